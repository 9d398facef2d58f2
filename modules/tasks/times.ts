import type { TaskRow } from '../../drizzle/rows.ts'
import { badRequest } from '../../src/responses/errors.ts'

export const remindAtPassed = () => badRequest('remindAt must be in the future')

/**
 * Checks the times in changed fields. If a client sets a due date that has passed, or reopens a task after its due
 * date, also returns a new `dueAfter`, so that no event `task.due` follows. `dueAfter` never decreases, so no due date
 * is recorded twice.
 * @throws HttpError 400
 */
export function timesOf(
  changed: Partial<TaskRow>,
  now: string,
  task?: TaskRow,
): Pick<TaskRow, 'dueAfter'> | undefined {
  const { remindAt, status, dueDate = task?.dueDate } = changed
  if (remindAt && remindAt <= now) throw remindAtPassed()
  const isReopened = status !== undefined && task?.status === 'DONE'
  if (!dueDate || dueDate > now || (changed.dueDate === undefined && !isReopened)) return undefined
  return task?.dueAfter && task.dueAfter >= dueDate ? undefined : { dueAfter: dueDate }
}
