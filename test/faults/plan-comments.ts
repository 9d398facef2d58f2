import type { Planner } from './plan.ts'
import type { Random } from './random.ts'
import { dropFrom, type World } from './world.ts'

const mostComments = 5

export const addComment: Planner = (world, random) => {
  const found = world.task(random)
  if (!found) return undefined
  const { project, task } = found
  if (task.comments.length >= mostComments) return deleteComment(world, random)
  const author = world.caller(project, random)
  const body = { text: world.tag('comment') }
  const about = { entity: 'comment' as const, id: '', taskId: task.id }
  const path = `/tasks/${task.id}/comments`
  return {
    request: { kind: 'comment.add', method: 'POST', path, caller: author, body, about },
    learn: ({ id }) => void task.comments.push({ id, author }),
  }
}

function someComment(world: World, random: Random) {
  const found = world.task(random)
  const comment = found && random.pick(found.task.comments)
  if (!found || !comment) return undefined
  const about = { entity: 'comment' as const, id: comment.id, taskId: found.task.id }
  return { ...found, comment, about, path: `/tasks/comments/${comment.id}` }
}

export const editComment: Planner = (world, random) => {
  const found = someComment(world, random)
  if (!found) return undefined
  const { about, path, comment } = found
  const body = { text: world.tag('edited comment') }
  return { request: { kind: 'comment.edit', method: 'PATCH', path, caller: comment.author, body, about } }
}

export const deleteComment: Planner = (world, random) => {
  const found = someComment(world, random)
  if (!found) return undefined
  const { about, path, comment, project, task } = found
  const caller = random.chance(0.6) ? comment.author : project.owner
  const drop = () => dropFrom(task.comments, comment)
  return {
    request: { kind: 'comment.delete', method: 'DELETE', path, caller, about },
    learn: drop,
    forget: drop,
  }
}
