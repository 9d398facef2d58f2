import { statuses } from '../../modules/tasks/schema.ts'
import type { Planner } from './plan.ts'
import type { Random } from './random.ts'
import { dropFrom, type KnownProject, type KnownTask, type User } from './world.ts'

const mostTasks = 30

const assignee = (project: KnownProject, random: Random): User =>
  random.pick(project.members)?.user ?? project.owner

export const createTask: Planner = (world, random) => {
  const project = world.project(random)
  if (project.tasks.length >= mostTasks) return deleteTask(world, random)
  const assigned = random.chance(0.3) ? { assigneeId: assignee(project, random).id } : {}
  const body = { title: world.tag('task'), projectId: project.id, status: random.pick(statuses), ...assigned }
  const about = { entity: 'task' as const, id: '', projectId: project.id, userId: assigned.assigneeId }
  return {
    request: {
      kind: 'task.create',
      method: 'POST',
      path: '/tasks',
      caller: world.caller(project, random),
      body,
      about,
    },
    learn: ({ id }, { etag }) => void project.tasks.push({ id, etag, subtasks: [], comments: [] }),
  }
}

export const patchTask: Planner = (world, random) => {
  const found = world.task(random)
  if (!found) return undefined
  const { project, task } = found
  const assigned = random.chance(0.15) ? { assigneeId: assignee(project, random).id } : {}
  const marked = random.chance(0.3) ? { status: random.pick(statuses) } : {}
  // Not always the same field, so that one may be undone though another was changed since.
  const said = random.chance(0.6) ? { title: world.tag('task') } : { description: world.tag('described') }
  const body = { ...said, ...marked, ...assigned }
  const ifMatch = random.chance(0.2) ? (task.etag ?? undefined) : undefined
  const caller = world.caller(project, random)
  const about = { ...aboutTask(task), userId: assigned.assigneeId }
  return {
    request: { kind: 'task.patch', method: 'PATCH', path: `/tasks/${task.id}`, caller, body, ifMatch, about },
    learn: (_, { etag }) => void (task.etag = etag),
    forget: () => dropFrom(project.tasks, task),
  }
}

export const moveTask: Planner = (world, random) => {
  const found = world.task(random)
  if (!found) return undefined
  const { project, task } = found
  const other = world.project(random)
  if (other === project || other.tasks.length >= mostTasks) return undefined
  const body = { projectId: other.id, title: world.tag('moved task') }
  const about = { ...aboutTask(task), otherProjectId: other.id }
  const there = new Set(insidersOf(other))
  const inBoth = insidersOf(project).filter((user) => there.has(user))
  const caller = (random.chance(0.9) && random.pick(inBoth)) || world.caller(project, random)
  return {
    request: { kind: 'task.move', method: 'PATCH', path: `/tasks/${task.id}`, caller, body, about },
    learn: (_, { etag }) => {
      task.etag = etag
      dropFrom(project.tasks, task)
      if (!other.tasks.includes(task)) other.tasks.push(task)
    },
  }
}

export const deleteTask: Planner = (world, random) => {
  const found = world.task(random)
  if (!found) return undefined
  const { project, task } = found
  const drop = () => dropFrom(project.tasks, task)
  const caller = world.caller(project, random)
  const about = aboutTask(task)
  return {
    request: { kind: 'task.delete', method: 'DELETE', path: `/tasks/${task.id}`, caller, about },
    learn: drop,
    forget: drop,
  }
}

const insidersOf = ({ owner, members }: KnownProject): User[] => [owner, ...members.map(({ user }) => user)]

const aboutTask = ({ id }: KnownTask) => ({ entity: 'task' as const, id, taskId: id })
