import { gone, plan, type Planner } from './plan.ts'
import type { Random } from './random.ts'
import { dropFrom, type World } from './world.ts'

const mostSubtasks = 5
const mostComments = 5

export const addSubtask: Planner = (world, random) => {
  const found = world.task(random)
  if (!found) return undefined
  const { project, task } = found
  if (task.subtasks.length >= mostSubtasks) return deleteSubtask(world, random)
  const about = { entity: 'subtask' as const, id: '', taskId: task.id }
  return plan('subtask.add', `POST /tasks/${task.id}/subtasks`, world.caller(project, random), about, {
    body: { title: world.tag('subtask') },
    learn: ({ id }) => void task.subtasks.push(id),
  })
}

function someSubtask(world: World, random: Random) {
  const found = world.task(random)
  const id = found && random.pick(found.task.subtasks)
  if (!found || !id) return undefined
  const about = { entity: 'subtask' as const, id, taskId: found.task.id }
  const drop = () => dropFrom(found.task.subtasks, id)
  return { about, caller: world.caller(found.project, random), path: `/tasks/subtasks/${id}`, drop } as const
}

export const toggleSubtask: Planner = (world, random) => {
  const found = someSubtask(world, random)
  if (!found) return undefined
  const { about, caller, path, drop } = found
  return plan('subtask.toggle', `PATCH ${path}/toggle`, caller, about, { forget: drop })
}

export const patchSubtask: Planner = (world, random) => {
  const found = someSubtask(world, random)
  const body = { title: world.tag('subtask'), completed: random.chance(0.5) }
  return found && plan('subtask.patch', `PATCH ${found.path}`, found.caller, found.about, { body })
}

export const deleteSubtask: Planner = (world, random) => {
  const found = someSubtask(world, random)
  return found && plan('subtask.delete', `DELETE ${found.path}`, found.caller, found.about, gone(found.drop))
}

export const addComment: Planner = (world, random) => {
  const found = world.task(random)
  if (!found) return undefined
  const { project, task } = found
  if (task.comments.length >= mostComments) return deleteComment(world, random)
  const author = world.caller(project, random)
  const about = { entity: 'comment' as const, id: '', taskId: task.id }
  return plan('comment.add', `POST /tasks/${task.id}/comments`, author, about, {
    body: { text: world.tag('comment') },
    learn: ({ id }) => void task.comments.push({ id, author }),
  })
}

function someComment(world: World, random: Random) {
  const found = world.task(random)
  const comment = found && random.pick(found.task.comments)
  if (!found || !comment) return undefined
  const about = { entity: 'comment' as const, id: comment.id, taskId: found.task.id }
  return { ...found, comment, about, path: `/tasks/comments/${comment.id}` } as const
}

export const editComment: Planner = (world, random) => {
  const found = someComment(world, random)
  const body = { text: world.tag('edited comment') }
  return found && plan('comment.edit', `PATCH ${found.path}`, found.comment.author, found.about, { body })
}

export const deleteComment: Planner = (world, random) => {
  const found = someComment(world, random)
  if (!found) return undefined
  const { about, path, comment, project, task } = found
  const caller = random.chance(0.6) ? comment.author : project.owner
  return plan(
    'comment.delete',
    `DELETE ${path}`,
    caller,
    about,
    gone(() => dropFrom(task.comments, comment)),
  )
}
