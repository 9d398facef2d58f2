import type { TaskRow } from '../../drizzle/rows.ts'
import { appeared, type Context, type Decision, differing, removed, updated } from '../../src/actor/events.ts'
import { requireMatch } from '../../src/actor/precondition.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import { requireStanding, type Standing } from '../../src/core/access.ts'
import { badRequest, notFound } from '../../src/core/errors.ts'

type Editable = Pick<TaskRow, 'title' | 'description' | 'status' | 'priority' | 'dueDate' | 'assigneeId'>
export type NewTask = Editable
export type TaskChanges = Partial<Editable>

/** The task, if it is here and the caller may do with it what takes `least`. `what` is what the caller asked for. */
export function taskFor(
  state: ProjectState,
  context: Context,
  taskId: string,
  least: Standing,
  what = 'Task',
): TaskRow {
  const standing = state.standing(context.caller)
  const task = state.row('task', taskId)
  if (!standing || task?.projectId !== state.projectId) throw notFound(what)
  requireStanding(standing, least, what)
  return task
}

export function createTask(state: ProjectState, context: Context, wanted: NewTask): Decision<TaskRow> {
  requireStanding(state.standing(context.caller), 'EDITOR', 'Project')
  requireAssignable(state, wanted.assigneeId)
  const { projectId, lastNumber } = state
  const [createdAt, updatedAt] = [context.now, context.now]
  const fields = { id: context.newId(), projectId, number: lastNumber + 1, ...wanted, createdAt, updatedAt }
  const change = appeared(state, context, 'task.created', 'task', fields)
  return { changes: [change], answer: change.after }
}

export function updateTask(
  state: ProjectState,
  context: Context,
  taskId: string,
  wanted: TaskChanges,
): Decision<TaskRow> {
  const task = taskFor(state, context, taskId, 'EDITOR')
  requireMatch(context, task)
  requireAssignable(state, wanted.assigneeId)
  const fields = differing<TaskChanges>(task, wanted)
  if (!fields) return { changes: [], answer: task }
  const change = updated(state, context, 'task.updated', 'task', task, { ...fields, updatedAt: context.now })
  return { changes: [change], answer: change.after }
}

/**
 * Takes the task out of one project and into another, with the wanted changes: one fact in each. It gets the next
 * number there, and loses an assignee who is not in the new project.
 */
export function moveTask(
  source: ProjectState,
  target: ProjectState,
  context: Context,
  taskId: string,
  wanted: TaskChanges,
): Decision<TaskRow> {
  const task = taskFor(source, context, taskId, 'EDITOR')
  requireMatch(context, task)
  requireStanding(target.standing(context.caller), 'EDITOR', 'Project')
  requireAssignable(target, wanted.assigneeId)
  const { eventId: _, ...kept } = task
  const { projectId, lastNumber } = target
  const moved = { ...kept, ...defined(wanted), projectId, number: lastNumber + 1, updatedAt: context.now }
  if (moved.assigneeId && !target.standing(moved.assigneeId)) moved.assigneeId = null
  const departure = removed(source, context, 'task.moved-out', 'task', task)
  const arrival = appeared(target, context, 'task.moved-in', 'task', moved)
  return { changes: [departure, arrival], answer: arrival.after }
}

export function deleteTask(state: ProjectState, context: Context, taskId: string): Decision<void> {
  const task = taskFor(state, context, taskId, 'EDITOR')
  requireMatch(context, task)
  return { changes: [removed(state, context, 'task.deleted', 'task', task)], answer: undefined }
}

/** After a member went: takes their tasks from them; false when they came back. The caller is the worker. */
export function unassignTasks(
  state: ProjectState,
  context: Context,
  taskIds: string[],
  userId: string,
): Decision<boolean> {
  if (!state.project || state.standing(userId)) return { changes: [], answer: false }
  const tasks = taskIds.map((id) => state.row('task', id))
  const theirs = tasks.filter(
    (task): task is TaskRow => task?.projectId === state.projectId && task.assigneeId === userId,
  )
  const fields = { assigneeId: null, updatedAt: context.now }
  const changes = theirs.map((task) => updated(state, context, 'task.unassigned', 'task', task, fields))
  return { changes, answer: true }
}

function requireAssignable(state: ProjectState, userId: string | null | undefined): void {
  if (typeof userId === 'string' && !state.standing(userId))
    throw badRequest('assigneeId must be the owner or a member of the project')
}

const defined = (wanted: TaskChanges): TaskChanges =>
  Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined))
