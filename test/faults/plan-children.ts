import { deletes, forTask, plan, type Planner } from './plan.ts'
import type { Random } from './random.ts'
import { removeFrom, type World } from './world.ts'

const maxSubtasks = 5
const maxComments = 5

export const addSubtask = forTask(({ project, task }, world, random) => {
  if (task.subtasks.length >= maxSubtasks) return deleteSubtask(world, random)
  const about = { entity: 'subtask' as const, id: '', taskId: task.id }
  return plan('subtask.add', `POST /tasks/${task.id}/subtasks`, world.caller(project, random), about, {
    body: { title: world.tag('subtask') },
    onSuccess: ({ id }) => void task.subtasks.push(id),
  })
})

function randomSubtask(world: World, random: Random) {
  const found = world.task(random)
  const id = found && random.pick(found.task.subtasks)
  if (!found || !id) return undefined
  const about = { entity: 'subtask' as const, id, taskId: found.task.id }
  const remove = () => removeFrom(found.task.subtasks, id)
  const caller = world.caller(found.project, random)
  return { about, caller, path: `/tasks/subtasks/${id}`, remove } as const
}

export const toggleSubtask: Planner = (world, random) => {
  const found = randomSubtask(world, random)
  if (!found) return undefined
  const { about, caller, path, remove } = found
  return plan('subtask.toggle', `PATCH ${path}/toggle`, caller, about, { onMissing: remove })
}

export const patchSubtask: Planner = (world, random) => {
  const found = randomSubtask(world, random)
  const body = { title: world.tag('subtask'), completed: random.chance(0.5) }
  return found && plan('subtask.patch', `PATCH ${found.path}`, found.caller, found.about, { body })
}

export const deleteSubtask: Planner = (world, random) => {
  const found = randomSubtask(world, random)
  if (!found) return undefined
  const { about, caller, path, remove } = found
  return plan('subtask.delete', `DELETE ${path}`, caller, about, deletes(remove))
}

export const addComment = forTask(({ project, task }, world, random) => {
  if (task.comments.length >= maxComments) return deleteComment(world, random)
  const author = world.caller(project, random)
  const about = { entity: 'comment' as const, id: '', taskId: task.id }
  return plan('comment.add', `POST /tasks/${task.id}/comments`, author, about, {
    body: { text: world.tag('comment') },
    onSuccess: ({ id }) => void task.comments.push({ id, author }),
  })
})

function randomComment(world: World, random: Random) {
  const found = world.task(random)
  const comment = found && random.pick(found.task.comments)
  if (!found || !comment) return undefined
  const about = { entity: 'comment' as const, id: comment.id, taskId: found.task.id }
  return { ...found, comment, about, path: `/tasks/comments/${comment.id}` } as const
}

export const editComment: Planner = (world, random) => {
  const found = randomComment(world, random)
  const body = { text: world.tag('edited comment') }
  return found && plan('comment.edit', `PATCH ${found.path}`, found.comment.author, found.about, { body })
}

export const deleteComment: Planner = (world, random) => {
  const found = randomComment(world, random)
  if (!found) return undefined
  const { about, path, comment, project, task } = found
  const caller = random.chance(0.6) ? comment.author : project.owner
  const handlers = deletes(() => removeFrom(task.comments, comment))
  return plan('comment.delete', `DELETE ${path}`, caller, about, handlers)
}
