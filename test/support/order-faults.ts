import type { TaskRow } from '../../drizzle/rows.ts'
import { keyOf } from '../../modules/order/keys.ts'

const maxKeyLength = 64

/** Describes tasks of one project that have the same sort key, and keys that are too long. */
export function orderFaults(rows: { entity: string; row: object }[]): string[] {
  const tasks = rows.flatMap(({ entity, row }) => (entity === 'task' ? [row as TaskRow] : []))
  const sameKeys = Map.groupBy(tasks, (task) => `${task.projectId} ${keyOf(task)}`)
  return [...sameKeys].flatMap(([key, { length }]) => [
    ...(length > 1 ? [`${length} tasks have the sort key ${key}`] : []),
    ...(key.length > maxKeyLength + key.indexOf(' ') + 1 ? [`the sort key ${key} is too long`] : []),
  ])
}
