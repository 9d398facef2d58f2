import type { MemberRow, TaskRow } from '../../drizzle/rows.ts'
import { childEntries } from '../../src/log/children.ts'
import { withDefaults } from '../../src/log/rows.ts'
import { created, type EventDraft, updated } from '../../src/model/events.ts'
import type { EventType } from '../../src/model/entities.ts'
import { definitionOf } from '../../src/model/model.ts'
import type { LoggedEvent } from '../../src/log/undo-input.ts'
import { conflict, idTaken } from '../../src/responses/errors.ts'
import { restoredPosition } from '../order/restore.ts'
import { tooManyMembers } from '../members/entity.ts'
import { undoConflict, type UndoState } from './invert.ts'

const accountDeleted = () => conflict('The account of this member was deleted')
const serviceAccountDeleted = () => conflict('A deleted service account cannot be restored: create a new one')

/** Restores a deleted row: a task with its children, a member with the assigned tasks. */
export function* restore(by: EventType, event: LoggedEvent, run: UndoState): Generator<[number, EventDraft]> {
  const { state, context, undo } = run
  const { entity, entityId, taskId, seq } = event
  const task = taskId === null ? undefined : state.row('task', taskId)
  const isInProject = task?.projectId === state.projectId
  if (isDeletedAgain(event, run)) throw undoConflict(event, [], run)
  if (entity === 'member') requireCanReturn(event, run)
  else if (entity === 'task') {
    if (isInProject) throw undoConflict(event, [], run)
    if (task || undo.movedAway.has(seq)) throw idTaken()
  } else if ((taskId && !isInProject) || state.row(entity, entityId)) throw undoConflict(event, [], run)
  const create = (type: EventType, row: object) => created(state, context, type, row as never) as EventDraft
  const row: object = withDefaults(entity, event.before!)
  const position = entity === 'task' && restoredPosition(row as TaskRow, seq, run)
  const placed = position ? { ...row, position } : row
  yield [seq, create(by, definitionOf(entity).restored?.(placed as never, undefined) ?? placed)]
  const children = undo.children.get(seq)
  for (const [child, row] of children ? childEntries(children) : [])
    yield [seq, create(`${child}.created`, withDefaults(child, row))]
  if (entity === 'member') yield* reassignTasks(event, run)
}

const isDeletedAgain = ({ seq, entity, entityId }: LoggedEvent, { undo }: UndoState): boolean =>
  undo.deletedAgain.has(seq) ||
  undo.pendingEvents.some((one) => one.entity === entity && one.entityId === entityId && !one.after)

function requireCanReturn(event: LoggedEvent, run: UndoState): void {
  const { state, context, undo } = run
  const { userId } = event.before as MemberRow
  const { projectMembers } = context.limits
  if (state.roleOf(userId)) throw undoConflict(event, [], run)
  const person = undo.people.get(userId)
  if (!person) throw accountDeleted()
  if (person.serves) throw serviceAccountDeleted()
  if (state.all('member').length >= projectMembers) throw tooManyMembers(projectMembers)
}

/** Assigns tasks to the restored member again if the removal unassigned them and they still have no assignee. */
function* reassignTasks(
  { seq, before }: LoggedEvent,
  { state, context, undo }: UndoState,
): Generator<[number, EventDraft]> {
  const { userId } = before as MemberRow
  const wasAssigned = ({ type, before }: EventDraft) =>
    type === 'task.unassigned' && (before as TaskRow).assigneeId === userId
  for (const event of [...undo.pendingEvents.filter(wasAssigned), ...(undo.unassignments.get(seq) ?? [])]) {
    const task = state.row('task', event.entityId)
    if (task?.projectId !== state.projectId || task.assigneeId !== null) continue
    const fields = { assigneeId: userId, updatedAt: context.now }
    yield [event.seq, updated(state, context, 'task.updated', task, fields)]
  }
}
