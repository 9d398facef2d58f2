import { positionKey } from '../../drizzle/schema/tasks.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { partsInOrder } from '../order/parts.ts'
import type { TaskFilter } from './list-query.ts'

export const isByPosition = ({ sort }: TaskFilter): boolean => sort === 'position'

export const positionOrder = (sql: Sql): SqlPart => sql`t.sort_key`

/**
 * SQL for the first rows of project `v`, sorted by position. Reads one branch for each index that has this order.
 * @param isNarrow true if the sources contain few rows: then one branch without an index is enough
 * @param rows the limit of rows of each branch
 */
export function rowsByPosition(
  sql: Sql,
  { after, status, priority, ready }: TaskFilter,
  {
    sources: [unchanged, changed],
    where,
    isNarrow,
  }: { sources: SqlPart[]; where: SqlPart; isNarrow: boolean },
  rows: number | SqlPart,
): SqlPart {
  const key = sql.unsafe(positionKey)
  const start = after ? sql`and ${key} > ${after[0]!}` : sql``
  const branch = (from: SqlPart, part: SqlPart) => sql`
    (select t.*, ${key} as sort_key from ${from} t where t.project_id = v.id and ${part} ${start} ${where}
      order by ${key} limit ${rows})`
  // All open statuses use the same indexes, so `ready` can use the indexes of any open status.
  const parts = isNarrow ? ['true'] : partsInOrder(status ?? (ready ? 'TODO' : undefined), priority)
  const branches = parts.map((part) => branch(unchanged!, sql.unsafe(part)))
  if (changed) branches.push(branch(changed, sql`true`))
  const all = branches.reduce((some, one) => sql`${some} union all ${one}`)
  return sql`select t.* from (${all}) t order by ${positionOrder(sql)} limit ${rows}`
}
