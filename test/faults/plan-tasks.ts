import { statuses } from '../../modules/tasks/schema.ts'
import { aboutProject, aboutTask, deletes, forTask, plan, type Planner } from './plan.ts'
import type { Random } from './random.ts'
import { removeFrom, type ProjectRef, type TaskRef, type User } from './world.ts'

const maxTasks = 30
const maxSubtasksAtOnce = 4

const assignee = (project: ProjectRef, random: Random): User =>
  random.pick(project.members)?.user ?? project.owner

export const createTask: Planner = (world, random) => {
  const project = world.project(random)
  if (project.tasks.length >= maxTasks) return deleteTask(world, random)
  const assigned = random.chance(0.3) ? { assigneeId: assignee(project, random).id } : {}
  const about = { entity: 'task' as const, id: '', projectId: project.id, userId: assigned.assigneeId }
  return plan('task.create', 'POST /tasks', world.caller(project, random), about, {
    body: { title: world.tag('task'), projectId: project.id, status: random.pick(statuses), ...assigned },
    onSuccess: ({ id }, { etag }) => void project.tasks.push({ id, etag, subtasks: [], comments: [] }),
  })
}

export const createBatch: Planner = (world, random) => {
  const project = world.project(random)
  if (project.tasks.length >= maxTasks) return undefined
  const subtasks = Array.from({ length: random.below(maxSubtasksAtOnce) }, () => {
    return { op: 'subtask.create', taskId: '#task', title: world.tag('subtask') }
  })
  const change = { op: 'task.update', id: '#task', title: world.tag('task'), status: 'DONE' }
  const operations = [
    { op: 'task.create', as: 'task', title: world.tag('task') },
    ...subtasks,
    { op: 'comment.create', taskId: '#task', text: world.tag('comment') },
    ...(random.chance(0.5) ? [change] : []),
  ]
  const caller = world.caller(project, random)
  const about = { entity: 'task' as const, id: '', projectId: project.id }
  return plan('batch', `POST /projects/${project.id}/batch`, caller, about, {
    body: { operations },
    onSuccess(response) {
      const { results } = response as unknown as { results: { id: string }[] }
      const ids = (op: string) => results.flatMap(({ id }, i) => (operations[i]!.op === op ? [id] : []))
      const comments = ids('comment.create').map((id) => ({ id, author: caller }))
      const task: TaskRef = { id: results[0]!.id, etag: null, subtasks: ids('subtask.create'), comments }
      project.tasks.push(task)
    },
  })
}

export const patchTask = forTask(({ project, task }, world, random) => {
  const assigned = random.chance(0.15) ? { assigneeId: assignee(project, random).id } : {}
  const status = random.chance(0.3) ? { status: random.pick(statuses) } : {}
  // Changes one of two fields, so that an undo of one field can succeed after a change of the other field.
  const text = random.chance(0.6) ? { title: world.tag('task') } : { description: world.tag('described') }
  const about = { ...aboutTask(task), userId: assigned.assigneeId }
  return plan('task.patch', `PATCH /tasks/${task.id}`, world.caller(project, random), about, {
    body: { ...text, ...status, ...assigned },
    ifMatch: random.chance(0.2) ? (task.etag ?? undefined) : undefined,
    onSuccess: (_, { etag }) => void (task.etag = etag),
    onMissing: () => removeFrom(project.tasks, task),
  })
})

export const moveTask = forTask(({ project, task }, world, random) => {
  const other = world.project(random)
  if (other === project || other.tasks.length >= maxTasks) return undefined
  const ofOther = new Set(membersOf(other))
  const ofBoth = membersOf(project).filter((user) => ofOther.has(user))
  const caller = (random.chance(0.9) && random.pick(ofBoth)) || world.caller(project, random)
  const about = { ...aboutTask(task), otherProjectId: other.id }
  return plan('task.move', `PATCH /tasks/${task.id}`, caller, about, {
    body: { projectId: other.id, title: world.tag('moved task') },
    onSuccess(_, { etag }) {
      task.etag = etag
      removeFrom(project.tasks, task)
      if (!other.tasks.includes(task)) other.tasks.push(task)
    },
  })
})

const membersOf = ({ owner, members }: ProjectRef): User[] => [owner, ...members.map(({ user }) => user)]

export const deleteTask = forTask(({ project, task }, world, random) => {
  const handlers = deletes(() => removeFrom(project.tasks, task))
  const caller = world.caller(project, random)
  return plan('task.delete', `DELETE /tasks/${task.id}`, caller, aboutTask(task), handlers)
})

export const getTask = forTask(({ project, task }, world, random) => {
  return plan('task.get', `GET /tasks/${task.id}`, world.caller(project, random), aboutTask(task))
})

export const listTasks: Planner = (world, random) => {
  const project = world.project(random)
  const query = new URLSearchParams({ projectId: project.id, limit: random.chance(0.5) ? '10' : '200' })
  if (random.chance(0.3)) query.set('status', random.pick(statuses)!)
  if (random.chance(0.5)) query.set('sort', '-createdAt')
  return plan('task.list', `GET /tasks?${query}`, world.caller(project, random), aboutProject(project))
}
