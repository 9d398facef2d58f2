import { positionKey } from '../../drizzle/schema/tasks.ts'
import type { FactKind } from '../../src/model/definition.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'
import { end, start } from './keys.ts'
import { Order } from './order.ts'
import { partsInOrder } from './parts.ts'

/** The gaps next to a task, the gap at a key, or the tasks around a key. The ends of the order are always loaded. */
export interface WantedOrder {
  taskId?: string
  key?: string
  around?: { key: string; radius: number }
}

interface Point {
  key: string
  id: string | null
  low: string | null
  high: string | null
}

export const orderFact: FactKind<Order, WantedOrder> = {
  create: (projectId) => new Order(projectId),
  async load(sql, order, wanted) {
    const points = await readPoints(sql, order.projectId, wanted)
    for (const { id, key, low, high } of points) {
      if (id !== null) order.addTask(key, id)
      order.addGap(low ?? start, id === null ? (high ?? end) : key)
      if (id !== null) order.addGap(key, high ?? end)
    }
    const rows = wanted.map(({ around }) => around && loadAround(sql, order, around))
    return [...points.flatMap(({ id }) => id ?? []), ...(await Promise.all(rows)).flatMap((ids) => ids ?? [])]
  },
}

type Comparison = '<' | '<=' | '=' | '>'

/** SQL for the nearest tasks of a project with a key in this relation to `than`, with their keys. */
function nearest(sql: Sql, projectId: string, by: Comparison, than: SqlPart, limit = 1): SqlPart {
  const key = sql.unsafe(positionKey)
  const [is, direction] = [sql.unsafe(by), by.startsWith('<') ? sql`desc` : sql`asc`]
  const parts = partsInOrder().map(
    (part): SqlPart => sql`
      (select id, ${key} as key from tasks where project_id = ${projectId} and ${sql.unsafe(part)}
        and ${key} ${is} ${than} order by ${key} ${direction} limit ${limit})`,
  )
  const all = parts.reduce((some, one) => sql`${some} union all ${one}`)
  return sql`(select id, key from (${all}) n order by key ${direction} limit ${limit})`
}

function readPoints(sql: Sql, projectId: string, wanted: WantedOrder[]): Promise<Point[]> {
  const ids = wanted.flatMap(({ taskId }) => taskId ?? [])
  const keys = [start, end, ...wanted.flatMap(({ key }) => key ?? [])]
  const near = (by: Comparison) => nearest(sql, projectId, by, sql`p.key`)
  // `offset 0` keeps Postgres from reading all tasks of a large project where most projects are small.
  return sql<Point[]>`
    select p.key, coalesce(p.id, (select id from ${near('=')} n)) as id,
      (select key from ${near('<')} n) as low, (select key from ${near('>')} n) as high
    from (select id, key
        from (select id, project_id, ${sql.unsafe(positionKey)} as key from tasks where id = any(${ids}::uuid[]) offset 0) t
        where project_id = ${projectId}
      union all select null, key from unnest(${keys}::text[]) key) p`
}

/** Loads one task more on each side, so that the outermost gaps are known too. */
async function loadAround(sql: Sql, order: Order, { key, radius }: { key: string; radius: number }) {
  const limit = radius + 1
  const near = (by: Comparison) => nearest(sql, order.projectId, by, sql`${key}`, limit)
  const [below, above] = await Promise.all(
    [near('<='), near('>')].map((rows) => sql<{ id: string; key: string }[]>`select id, key from ${rows} n`),
  )
  const rows = [...below!.toReversed(), ...above!]
  for (const { id, key } of rows) order.addTask(key, id)
  const keys = rows.map(({ key }) => key)
  if (below!.length < limit) keys.unshift(start)
  if (above!.length < limit) keys.push(end)
  keys.slice(1).forEach((high, n) => order.addGap(keys[n]!, high))
  order.radius = Math.max(order.radius, radius)
  return rows.map(({ id }) => id)
}
