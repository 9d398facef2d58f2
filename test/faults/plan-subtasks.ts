import type { Planner } from './plan.ts'
import type { Random } from './random.ts'
import { dropFrom, type World } from './world.ts'

const mostSubtasks = 5

export const addSubtask: Planner = (world, random) => {
  const found = world.task(random)
  if (!found) return undefined
  const { project, task } = found
  if (task.subtasks.length >= mostSubtasks) return deleteSubtask(world, random)
  const caller = world.caller(project, random)
  const body = { title: world.tag('subtask') }
  const about = { entity: 'subtask' as const, id: '', taskId: task.id }
  return {
    request: { kind: 'subtask.add', method: 'POST', path: `/tasks/${task.id}/subtasks`, caller, body, about },
    learn: ({ id }) => void task.subtasks.push(id),
  }
}

/** A subtask that is known, with who asks and what is asked about. */
function someSubtask(world: World, random: Random) {
  const found = world.task(random)
  const id = found && random.pick(found.task.subtasks)
  if (!found || !id) return undefined
  const about = { entity: 'subtask' as const, id, taskId: found.task.id }
  return {
    about,
    caller: world.caller(found.project, random),
    path: `/tasks/subtasks/${id}`,
    task: found.task,
  }
}

export const toggleSubtask: Planner = (world, random) => {
  const found = someSubtask(world, random)
  if (!found) return undefined
  const { about, caller, path, task } = found
  return {
    request: { kind: 'subtask.toggle', method: 'PATCH', path: `${path}/toggle`, caller, about },
    forget: () => dropFrom(task.subtasks, about.id),
  }
}

export const patchSubtask: Planner = (world, random) => {
  const found = someSubtask(world, random)
  if (!found) return undefined
  const { about, caller, path } = found
  const body = { title: world.tag('subtask'), completed: random.chance(0.5) }
  return { request: { kind: 'subtask.patch', method: 'PATCH', path, caller, body, about } }
}

export const deleteSubtask: Planner = (world, random) => {
  const found = someSubtask(world, random)
  if (!found) return undefined
  const { about, caller, path, task } = found
  const drop = () => dropFrom(task.subtasks, about.id)
  return {
    request: { kind: 'subtask.delete', method: 'DELETE', path, caller, about },
    learn: drop,
    forget: drop,
  }
}
