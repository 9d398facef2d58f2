import type { TaskRow } from '../../drizzle/rows.ts'
import type { State } from '../../src/actor/state.ts'
import type { RuleContext } from '../../src/commands/command.ts'
import { type EventDraft, isEqual, deleted, updated } from '../../src/model/events.ts'
import type { EventType } from '../../src/model/entities.ts'
import type { LoggedEvent } from '../../src/log/undo-input.ts'
import { rowBefore, withDefaults } from '../../src/log/rows.ts'
import { definitionOf, rowAfter } from '../../src/model/model.ts'
import { UndoConflict } from '../../src/log/undo-limits.ts'
import { notUndoable } from '../../src/responses/errors.ts'
import { keyOf } from '../order/keys.ts'
import { keySince, type PlacesOfUndo, restoredPosition } from '../order/restore.ts'

export interface UndoState extends PlacesOfUndo {
  /** A copy of the project's state, to which the inverse events are applied. */
  state: State
  context: RuleContext
}

type Row = Record<string, unknown>

/** An undo neither compares nor restores these fields: every change sets them, and a due date is recorded only once. */
const notInverted = ['eventId', 'updatedAt', 'dueAfter']
const isInverted = (name: string) => !notInverted.includes(name)

export const undoConflict = (event: LoggedEvent, fields: string[], { undo }: UndoState) =>
  new UndoConflict(
    event,
    fields,
    undo.events.map(({ seq }) => seq),
  )

const invitationNotUndoable = () =>
  notUndoable('The invitation of a service account cannot be undone: delete the service account')

/** Restores the fields that an event changed, or deletes the row that the event created. */
export function invert(by: EventType, event: LoggedEvent, run: UndoState): EventDraft {
  const { state, context, undo } = run
  const row = currentRow(state, event)
  const rowOf = (logged: object) => withDefaults<Row>(event.entity, logged as Row)
  const [before, after] = [event.before && rowOf(rowBefore(event)!), rowOf(rowAfter(event)!)]
  const isPlaced = event.entity === 'task' && before !== null && !isEqual(after.position, before.position)
  const expected = isPlaced ? { ...after, position: positionSince(after, event, run) } : after
  const now = row as Row | null
  const fields = before
    ? Object.keys(after).filter((name) => isInverted(name) && !isEqual(after[name], before[name]))
    : Object.keys({ ...after, ...now }).filter((name) => isInverted(name) && name !== 'position')
  const changedLater = fields.filter((name) => !isEqual(now?.[name], expected[name]))
  if (!row || changedLater.length > 0) throw undoConflict(event, row ? changedLater : [], run)
  if (before) {
    const at = 'updatedAt' in row ? { updatedAt: context.now } : {}
    const logged = Object.fromEntries(fields.map((name) => [name, before[name]]))
    if (isPlaced) logged.position = restoredPosition(before as unknown as TaskRow, event.seq, run)
    const set = definitionOf(event.entity).restored?.(logged as never, row as never) ?? logged
    return updated(state, context, by, row as never, { ...set, ...at } as never)
  }
  if (event.entity === 'task' && hasLaterChildren(event.entityId, run)) throw undoConflict(event, [], run)
  if (undo.people.get((row as { userId?: string }).userId ?? '')?.serves) throw invitationNotUndoable()
  return deleted(state, context, by, row as never)
}

function positionSince(after: Row, { seq }: LoggedEvent, run: UndoState): string | null {
  const task = after as unknown as TaskRow
  const key = keySince(task, seq, run)
  return key === keyOf(task) ? (task.position ?? null) : key
}

/** Returns the current row; null if it was deleted, or if its task was moved to another project. */
function currentRow(state: State, { entity, entityId, taskId }: LoggedEvent): object | null {
  const row = state.row(entity, entityId)
  if (!row || !taskId) return row ?? null
  if (state.row('task', taskId)?.projectId !== state.projectId) return null
  // After a deletion, a child of another task may have received the same id.
  return entity === 'task' || taskOf(row) === taskId ? row : null
}

/** Returns true if a task has children, in the database or in this commit, besides children that this undo restored. */
function hasLaterChildren(taskId: string, { state, undo }: UndoState): boolean {
  const added = undo.pendingEvents.filter(
    ({ entity, after }) => entity !== 'task' && taskOf(after) === taskId,
  )
  const read = undo.remainingChildren.filter((one) => one.taskId === taskId)
  const all = [...read, ...added.map(({ entity, entityId }) => ({ entity, id: entityId }))]
  return all.some(({ entity, id }) => {
    return !state.isLoaded(entity, id) || state.row(entity, id) !== undefined
  })
}

const taskOf = (row: object | null): string | undefined => (row as { taskId?: string } | null)?.taskId
