import type { TaskRow } from '../../drizzle/rows.ts'
import { type EventDraft, updated } from '../../src/model/events.ts'
import { conflict } from '../../src/responses/errors.ts'
import type { UndoState } from './invert.ts'

export const assigneeNotMember = () => conflict('The previous assignee is no longer a member of the project')

/** Unassigns restored tasks whose assignee has left. @throws HttpError 409 if the undo restores only the assignee */
export function unassignNonMembers(
  changes: EventDraft[],
  { state, context }: UndoState,
): [number, EventDraft][] {
  const assigned = changes.filter(
    ({ entity, before, after }) => entity === 'task' && after && (!before || 'assigneeId' in before),
  )
  return [...Map.groupBy(assigned, ({ entityId }) => entityId)].flatMap(
    ([id, events]): [number, EventDraft][] => {
      const task = state.row('task', id)
      if (!task?.assigneeId || state.roleOf(task.assigneeId)) return []
      const [restored] = events.filter(({ before }) => !before)
      if (!restored) throw assigneeNotMember()
      const fields: Partial<TaskRow> = { assigneeId: null, updatedAt: context.now }
      return [[restored.undoes!, updated(state, context, 'task.unassigned', task, fields)]]
    },
  )
}
