import { type About, type Operation, outcomeOf, type Request } from './history.ts'
import type { Random } from './random.ts'
import { type EventRef, type ProjectRef, removeFrom, type TaskRef, type User, type World } from './load.ts'
import { statuses } from '../../modules/tasks/schema.ts'
import { roles } from '../../src/identity/rights.ts'
import type { Undo } from './check-writes.ts'

interface Handlers {
  onSuccess?(body: { id: string }, operation: Operation): void
  onMissing?(): void
}

export interface Plan extends Handlers {
  request: Request
}

/** Plans a random request; undefined if the clients know no row for such a request. */
export type Planner = (world: World, random: Random) => Plan | undefined
type Found = NonNullable<ReturnType<World['task']>>

/** Plans a request for a random task that the clients know. */
export const forTask =
  (planOf: (found: Found, ...by: Parameters<Planner>) => Plan | undefined): Planner =>
  (world, random) => {
    const found = world.task(random)
    return found && planOf(found, world, random)
  }

export function plan(
  kind: string,
  to: `${Request['method']} ${string}`,
  caller: User,
  about: About,
  { body, ifMatch, ...handlers }: Pick<Request, 'body' | 'ifMatch'> & Handlers = {},
): Plan {
  const [method, path] = to.split(' ') as [Request['method'], string]
  return { request: { kind, method, path, caller, body, ifMatch, about }, ...handlers }
}

/** Handlers for a deletion, where 404 also means that the row is deleted. */
export const deletes = (remove: () => void): Handlers => ({ onSuccess: remove, onMissing: remove })

export const aboutNewProject = { entity: 'project' as const, id: '' }
export const aboutProject = ({ id }: Pick<ProjectRef, 'id'>): About => ({
  entity: 'project',
  id,
  projectId: id,
})
export const aboutTask = ({ id }: Pick<TaskRef, 'id'>): About => ({ entity: 'task', id, taskId: id })

export function applyResponse(plan: Plan, operation: Operation): void {
  if (outcomeOf(operation) === 'done')
    plan.onSuccess?.(JSON.parse(operation.text) as { id: string }, operation)
  else if (operation.status === 404) plan.onMissing?.()
}

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

const maxTemporary = 5
const maxMembers = 12

export const createProject: Planner = (world, random) => {
  if (world.projects.filter(({ isPermanent }) => !isPermanent).length >= maxTemporary) return undefined
  const owner = random.pick(world.owners)!
  const lists = { members: [], tasks: [], recent: [] }
  return plan('project.create', 'POST /projects', owner, aboutNewProject, {
    body: { name: world.tag('project') },
    onSuccess: ({ id }) => void world.projects.push({ id, owner, isPermanent: false, ...lists }),
  })
}

export const patchProject: Planner = (world, random) => {
  const project = world.project(random)
  const body = { name: world.tag('renamed project') }
  const caller = world.caller(project, random)
  return plan('project.patch', `PATCH /projects/${project.id}`, caller, aboutProject(project), { body })
}

export const deleteProject: Planner = (world, random) => {
  const project = random.pick(world.projects.filter(({ isPermanent }) => !isPermanent))
  if (!project) return undefined
  const handlers = deletes(() => removeFrom(world.projects, project))
  const about = aboutProject(project)
  return plan('project.delete', `DELETE /projects/${project.id}`, project.owner, about, handlers)
}

export const readHistory: Planner = (world, random) => {
  const project = world.project(random)
  const path = `/projects/${project.id}/history?limit=${random.chance(0.5) ? 5 : 20}`
  return plan('project.history', `GET ${path}`, world.caller(project, random), aboutProject(project), {
    onSuccess: (body) => void (project.recent = body as unknown as EventRef[]),
  })
}

export const inviteMember: Planner = (world, random) => {
  const project = world.project(random)
  if (project.members.length >= maxMembers) return removeMember(world, random)
  const [caller, user] = [world.caller(project, random), random.pick(world.users)!]
  const about = { entity: 'member' as const, id: '', projectId: project.id, userId: user.id }
  return plan('member.invite', `POST /projects/${project.id}/members/invite`, caller, about, {
    body: { email: user.email, role: random.pick(['EDITOR', 'ADMIN', 'EDITOR', 'VIEWER']) },
    onSuccess: ({ id }) => void project.members.push({ id, user }),
  })
}

export const setRole: Planner = (world, random) => {
  const project = world.project(random)
  const member = random.pick(project.members)
  if (!member) return undefined
  const path = `/projects/${project.id}/members/${member.id}/role`
  const about = { entity: 'member' as const, id: member.id, projectId: project.id }
  const body = { role: random.pick(roles) }
  return plan('member.role', `PATCH ${path}`, world.caller(project, random), about, { body })
}

export const removeMember: Planner = (world, random) => {
  const project = world.project(random)
  const member = random.pick(project.members)
  if (!member) return undefined
  const caller = random.chance(0.7) ? project.owner : member.user
  const path = `/projects/${project.id}/members/${member.id}`
  const about = { entity: 'member' as const, id: member.id, projectId: project.id, userId: member.user.id }
  const handlers = deletes(() => removeFrom(project.members, member))
  return plan('member.remove', `DELETE ${path}`, caller, about, handlers)
}

const maxSeqs = 4

export const undo: Planner = (world, random) => {
  const project = world.project(random)
  const body = randomTarget(project.recent, random)
  if (!body) return readHistory(world, random)
  const caller = random.chance(0.7) ? project.owner : world.caller(project, random)
  const isDryRun = random.chance(0.15)
  const path = `/projects/${project.id}/undo${isDryRun ? '?dryRun=true' : ''}`
  return plan('undo', `POST ${path}`, caller, aboutProject(project), {
    body: { ...body },
    onSuccess(response) {
      const { changes } = response as unknown as { changes: EventRef[] }
      for (const change of isDryRun ? [] : changes) applyUndo(world, project, change)
    },
  })
}

function randomTarget(recent: EventRef[], random: Random): Undo | undefined {
  const one = (of: EventRef[]): Undo | undefined => {
    const event = random.pick(of)
    return event && { seq: event.seq }
  }
  const kinds: Record<string, () => Undo | undefined> = {
    any: () => one(recent),
    newest: () => one(recent.slice(0, 1)),
    deletion: () => one(recent.filter(({ after }) => !after)),
    undo: () => one(recent.filter(({ undoes }) => undoes)),
    batch: () => {
      const event = random.pick(recent.filter(({ batch }) => batch))
      return event && { batch: event.batch! }
    },
    several: () => {
      const some = random.shuffled(recent.slice(0, maxSeqs * 2)).slice(0, 2 + random.below(maxSeqs - 1))
      return some.length > 1 ? { seqs: some.map(({ seq }) => seq) } : undefined
    },
  }
  return kinds[random.weighted({ any: 3, newest: 2, deletion: 3, undo: 2, batch: 2, several: 2 })]!()
}

function applyUndo(world: World, project: ProjectRef, { type, entityId, taskId, after }: EventRef): void {
  const task = project.tasks.find(({ id }) => id === taskId)
  const author = world.users.find(({ id }) => id === (after?.authorId ?? after?.userId))
  if (type === 'task.created' && !task) {
    project.tasks.push({ id: entityId, etag: null, subtasks: [], comments: [] })
  } else if (type === 'task.deleted' && task) removeFrom(project.tasks, task)
  else if (type === 'subtask.created') task?.subtasks.push(entityId)
  else if (type === 'comment.created' && author) task?.comments.push({ id: entityId, author })
  else if (type === 'member.invited' && author) project.members.push({ id: entityId, user: author })
  else if (type === 'member.removed') project.members = project.members.filter(({ id }) => id !== entityId)
}

const planners = {
  ...{ createTask, createBatch, patchTask, moveTask, deleteTask, getTask, listTasks },
  ...{ addSubtask, toggleSubtask, patchSubtask, deleteSubtask, addComment, editComment, deleteComment },
  ...{ createProject, patchProject, deleteProject, readHistory, inviteMember, setRole, removeMember, undo },
} satisfies Record<string, Planner>

const weights: Record<keyof typeof planners, number> = {
  ...{ createBatch: 6, createTask: 10, patchTask: 12, moveTask: 5, deleteTask: 3 },
  ...{ addSubtask: 6, toggleSubtask: 8, patchSubtask: 3, deleteSubtask: 2 },
  ...{ addComment: 5, editComment: 3, deleteComment: 2 },
  ...{ inviteMember: 4, setRole: 3, removeMember: 2 },
  ...{ createProject: 1, patchProject: 1, deleteProject: 0.7 },
  ...{ undo: 10, getTask: 15, listTasks: 12, readHistory: 4 },
}

export function planNext(world: World, random: Random): Plan {
  for (;;) {
    const plan = planners[random.weighted(weights)](world, random)
    if (plan) return plan
  }
}
