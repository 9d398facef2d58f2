import { generateKeyBetween, generateNKeysBetween } from 'fractional-indexing'
import type { TaskRow } from '../../drizzle/rows.ts'

/** A longer key causes the tasks around it to get new keys. */
export const maxKeyLength = 48

/** `start` sorts before every key, and `end` after every key. */
export const [start, end] = ['', '~']

/** An interval between two keys, or `start` or `end`, in which a project has no task. */
export interface Gap {
  low: string
  high: string
}

/** The key of a task that was never placed, as in `positionKey`. Only the task with this number may have it. */
export const impliedKey = (number: number): string => `j${String(number).padStart(10, '0')}`
const isImplied = (key: string): boolean => /^j\d{10}$/.test(key) && key !== impliedKey(0)

/** The sort key of a task in its project. Keys are compared bytewise. */
export const keyOf = ({ position, number }: Pick<TaskRow, 'position' | 'number'>): string =>
  position ?? impliedKey(number)

/** Returns a key in the gap. It sorts before the keys of tasks that are created later. */
export function keyIn(gap: Gap, lastNumber: number): string {
  const [low, high] = boundsOf(gap, lastNumber)
  return unimplied(generateKeyBetween(low, high), low)
}

/** Returns keys in the gap, with equal distances. */
export function keysIn(gap: Gap, lastNumber: number, count: number): string[] {
  let [low, high] = boundsOf(gap, lastNumber)
  return generateNKeysBetween(low, high, count).map((key) => (low = unimplied(key, low)))
}

/** Keys for the first place are below every key made from a task number, so repeated inserts there do not lengthen keys. */
function boundsOf({ low, high }: Gap, lastNumber: number): [low: string | null, high: string] {
  if (low !== start) return [low, high === end ? impliedKey(lastNumber + 1) : high]
  return [null, high < impliedKey(1) ? high : impliedKey(1)]
}

/** Replaces an implied key by a key before it, because the task with the implied key may be restored. */
const unimplied = (key: string, low: string | null): string =>
  isImplied(key) ? generateKeyBetween(low, key) : key

const openPart = (priority: string) => `priority = '${priority}' and status <> 'DONE' and claimed_by is null`

/**
 * Returns the conditions of the partial indexes that sort a project's tasks by position. Each task meets exactly one
 * condition. With filters, returns only the conditions that a matching task can meet.
 */
export const partsInOrder = (status?: string, priority?: string): string[] => [
  ...['LOW', 'MEDIUM', 'HIGH'].flatMap((one) =>
    status === 'DONE' || (priority ?? one) !== one ? [] : openPart(one),
  ),
  ...((status ?? 'DONE') === 'DONE' ? [`status = 'DONE' and claimed_by is null`] : []),
  'claimed_by is not null',
]
