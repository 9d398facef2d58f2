import { statuses } from '../../modules/tasks/schema.ts'
import type { Planner } from './plan.ts'

export const getTask: Planner = (world, random) => {
  const found = world.task(random)
  if (!found) return undefined
  const { project, task } = found
  const about = { entity: 'task' as const, id: task.id, taskId: task.id }
  const caller = world.caller(project, random)
  return { request: { kind: 'task.get', method: 'GET', path: `/tasks/${task.id}`, caller, about } }
}

export const listTasks: Planner = (world, random) => {
  const project = world.project(random)
  const query = new URLSearchParams({ projectId: project.id, limit: random.chance(0.5) ? '10' : '200' })
  if (random.chance(0.3)) query.set('status', random.pick(statuses)!)
  if (random.chance(0.5)) query.set('sort', '-createdAt')
  const about = { entity: 'project' as const, id: project.id, projectId: project.id }
  const caller = world.caller(project, random)
  return { request: { kind: 'task.list', method: 'GET', path: `/tasks?${query}`, caller, about } }
}
