import type { TaskRow } from '../../drizzle/rows.ts'
import { type EventDraft, updated } from '../../src/model/events.ts'
import { conflict } from '../../src/responses/errors.ts'
import type { Undoing } from './invert.ts'

export const notAssignable = () => conflict('Who had the task is not in the project any more')

/** Whom a task is given back to is in the project then. What came back without its assignee has none. @throws HttpError 409 */
export function strangersTasks(changes: EventDraft[], { trial, known }: Undoing): [number, EventDraft][] {
  const given = changes.filter(
    ({ entity, before, after }) => entity === 'task' && after && (!before || 'assigneeId' in before),
  )
  return [...Map.groupBy(given, ({ entityId }) => entityId)].flatMap(([id, some]): [number, EventDraft][] => {
    const task = trial.row('task', id)
    if (!task?.assigneeId || trial.roleOf(task.assigneeId)) return []
    const [cameBack] = some.filter(({ before }) => !before)
    if (!cameBack) throw notAssignable()
    const fields: Partial<TaskRow> = { assigneeId: null, updatedAt: known.now }
    return [[cameBack.undoes!, updated(trial, known, 'task.unassigned', task, fields)]]
  })
}
