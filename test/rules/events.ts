import '../../modules/modules.ts'
import type { CommentRow, MemberRow, ProjectRow, SubtaskRow, TaskRow } from '../../drizzle/rows.ts'
import type { EventDraft } from '../../src/model/events.ts'
import type { Entity, EventType, Rows } from '../../src/model/entities.ts'
import type { MemberRole } from '../../src/identity/rights.ts'

export const projectId = 'project'
export const elsewhereId = 'elsewhere'

export const owner = 'olga'
export const admin = 'adam'
export const editor = 'eda'
export const viewer = 'vito'
export const stranger = 'stan'

const createdAt = '2030-01-01T00:00:00.000Z'
// Rows are frozen, so a rule that mutates a row fails its test.
const row = <R extends object>(fields: R): Readonly<R> => Object.freeze(fields)

export const project = row<ProjectRow>({
  id: projectId,
  ownerId: owner,
  name: 'Engine',
  description: 'All wheels',
  createdAt,
  eventId: 'project-event',
})
const elsewhere = row<ProjectRow>({ ...project, id: elsewhereId, eventId: 'elsewhere-event' })

export const memberOf = (userId: string, role: MemberRole, of = projectId) =>
  row<MemberRow>({ id: `${userId}-in`, projectId: of, userId, role, createdAt, eventId: `${userId}-event` })

export const task = row<TaskRow>({
  id: 'task',
  projectId,
  number: 1,
  title: 'Draw',
  description: 'In ink',
  status: 'TODO',
  priority: 'MEDIUM',
  dueDate: '2030-02-01T00:00:00.000Z',
  assigneeId: null,
  createdAt,
  updatedAt: createdAt,
  eventId: 'task-event',
})
export const taskOf = (fields: Partial<TaskRow>) => row<TaskRow>({ ...task, ...fields })

export const subtask = row<SubtaskRow>({
  id: 'subtask',
  taskId: task.id,
  title: 'Sharpen',
  completed: false,
  createdAt,
  eventId: 'subtask-event',
})

export const comment = row<CommentRow>({
  id: 'comment',
  taskId: task.id,
  authorId: editor,
  text: 'Oil it',
  createdAt,
  updatedAt: createdAt,
  eventId: 'comment-event',
})

/** Returns an event that changes a row from `before` to `after`. Its id is the `eventId` of `after`. */
export function eventOf<E extends Entity>(
  type: EventType<E>,
  entity: E,
  before: Rows[E] | null,
  after: Rows[E] | null,
  { id = after?.eventId ?? 'new-1', at = projectId } = {},
): EventDraft<E> {
  const entityId = (after ?? before)!.id
  const about = { id, projectId: at, type: type as EventType, entity, entityId }
  return { ...about, before: changedOf(before, after), after }
}

function changedOf<R extends { eventId: string }>(before: R | null, after: R | null): Partial<R> | null {
  if (!before || !after) return before
  const fields = Object.entries(before).filter(
    ([name, was]) => name === 'eventId' || was !== after[name as keyof R],
  )
  return Object.fromEntries(fields) as Partial<R>
}

const joined = (member: MemberRow) =>
  eventOf('member.invited', 'member', null, member, { at: member.projectId })

const created = (of: ProjectRow) => eventOf('project.created', 'project', null, of, { at: of.id })
export const projectCreated = created(project)
export const elsewhereCreated = created(elsewhere)
const invited = (userId: string, role: MemberRole) => joined(memberOf(userId, role))
export const invitedElsewhere = (userId: string, role: MemberRole) =>
  joined(memberOf(userId, role, elsewhereId))
export const taskCreated = (of: TaskRow = task) =>
  eventOf('task.created', 'task', null, of, { at: of.projectId })
export const subtaskCreated = (of: SubtaskRow = subtask) => eventOf('subtask.created', 'subtask', null, of)
export const commentCreated = (of: CommentRow = comment) => eventOf('comment.created', 'comment', null, of)

export const staffed = [
  projectCreated,
  invited(admin, 'ADMIN'),
  invited(editor, 'EDITOR'),
  invited(viewer, 'VIEWER'),
]
export const busy = [...staffed, taskCreated(), subtaskCreated(), commentCreated()]
export const projectDeleted = eventOf('project.deleted', 'project', project, null)
