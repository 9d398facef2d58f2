import type { TaskRow } from '../../drizzle/rows.ts'

/** The key of a task that was never placed, as in `positionKey`. Only the task with this number may have it. */
export const impliedKey = (number: number): string => `j${String(number).padStart(10, '0')}`

/** The sort key of a task in its project. Keys are compared bytewise. */
export const keyOf = ({ position, number }: Pick<TaskRow, 'position' | 'number'>): string =>
  position ?? impliedKey(number)
