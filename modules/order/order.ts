import type { TaskRow } from '../../drizzle/rows.ts'
import { unionOf } from '../../src/log/rows-at.ts'
import type { EventDraft } from '../../src/model/events.ts'
import type { FactKind } from '../../src/model/definition.ts'
import { end, type Gap, keyOf, start, partsInOrder } from './keys.ts'
import { positionKey } from '../../drizzle/schema/tasks.ts'
import type { Sql, SqlPart } from '../../src/postgres/database.ts'

type Direction = 'below' | 'above'

export interface Neighbours {
  /** From the nearest to the farthest. */
  tasks: { id: string; key: string }[]
  /** The key after the farthest task. */
  bound: string
}

/** The known part of a project's order: gaps, and the tasks between two known gaps. */
export class Order {
  /** At most this many tasks on each side of a gap were loaded. */
  radius = 0

  constructor(
    /** The ends of the known gaps, by their starts. */
    private readonly gaps = new Map<string, string>(),
    private readonly ids = new Map<string, string>(),
  ) {}

  fork(): Order {
    const fork = new Order(new Map(this.gaps), new Map(this.ids))
    fork.radius = this.radius
    return fork
  }

  addGap(low: string, high: string): void {
    if (low < high && !this.gaps.has(low)) this.gaps.set(low, high)
  }

  addTask(key: string, id: string): void {
    this.ids.set(key, id)
  }

  gapAfter(low: string): Gap | undefined {
    const high = this.gaps.get(low)
    return high === undefined ? undefined : { low, high }
  }

  gapBefore = (key: string): Gap | undefined => this.find(({ high }) => high === key)

  gapAround = (key: string): Gap | undefined => this.find(({ low, high }) => low < key && key < high)

  private find(isWanted: (gap: Gap) => boolean): Gap | undefined {
    for (const [low, high] of this.gaps) if (isWanted({ low, high })) return { low, high }
    return undefined
  }

  /** Returns up to `count` tasks next to a gap that ends at `from`; undefined if they are not loaded. */
  neighbours(from: string, direction: Direction, count: number): Neighbours | undefined {
    const tasks: Neighbours['tasks'] = []
    let bound = from
    while (tasks.length < count && bound !== start && bound !== end) {
      const gap = direction === 'below' ? this.gapBefore(bound) : this.gapAfter(bound)
      const id = this.ids.get(bound)
      // A known gap may end at a task that is not loaded. No other task may pass this task.
      if (!gap || id === undefined) return this.radius < count ? undefined : { tasks, bound }
      tasks.push({ id, key: bound })
      bound = direction === 'below' ? gap.low : gap.high
    }
    return { tasks, bound }
  }

  apply({ entity, entityId, before, after }: EventDraft): void {
    if (entity !== 'task') return
    const [old, now] = [before && keyOf({ ...after, ...before } as TaskRow), after && keyOf(after as TaskRow)]
    if (old === now) return
    if (old !== null) this.leave(old)
    if (now !== null) this.enter(now, entityId)
  }

  /** Merges the two gaps next to a key that a task has left. If only one gap is known, this gap still ends at the key. */
  private leave(key: string): void {
    this.ids.delete(key)
    const [below, above] = [this.gapBefore(key), this.gapAfter(key)]
    if (!below || !above) return
    this.gaps.delete(key)
    this.gaps.set(below.low, above.high)
  }

  private enter(key: string, id: string): void {
    this.ids.set(key, id)
    const gap = this.gapAround(key)
    if (!gap) return
    this.gaps.set(gap.low, key)
    this.gaps.set(key, gap.high)
  }
}

/** The tasks around a task or a key, and the gaps between them. The ends of the order are always loaded. */
export interface WantedOrder {
  taskId?: string
  key?: string
  /** The number of tasks on each side. Only a respacing needs more than one, and their rows. */
  radius?: number
}

interface Point {
  key: string
  /** From the nearest to the farthest, and with the task at the key itself. */
  below: { id: string; key: string }[]
  above: { id: string; key: string }[]
}

export const orderFact: FactKind<Order, WantedOrder> = {
  create: () => new Order(),
  copy: (order) => order.fork(),
  apply: (order, change) => order.apply(change),
  async load(sql, projectId, order, wanted) {
    const byRadius = Map.groupBy(
      [{ key: start }, { key: end }, ...wanted],
      ({ radius = 1 }: WantedOrder) => radius,
    )
    const loaded = await Promise.all(
      [...byRadius].map(([radius, some]) => loadAround(sql, projectId, order, some, radius)),
    )
    return loaded.flat()
  },
}

/** Returns the ids of the tasks at the points or, for a respacing, of all tasks around them. */
async function loadAround(
  sql: Sql,
  projectId: string,
  order: Order,
  wanted: WantedOrder[],
  radius: number,
): Promise<string[]> {
  // One task more on each side, so that the outermost gaps are known too.
  const limit = radius + 1
  const ids = wanted.flatMap(({ taskId }) => taskId ?? [])
  const keys = wanted.flatMap(({ key }) => key ?? [])
  // `offset 0` keeps Postgres from reading all tasks of a large project where most projects are small.
  const points = await sql<Point[]>`
    select p.key, ${nearest(sql, projectId, '<=', limit)} as below, ${nearest(sql, projectId, '>', limit)} as above
    from (select key
        from (select project_id, ${sql.unsafe(positionKey)} as key from tasks where id = any(${ids}::uuid[]) offset 0) t
        where project_id = ${projectId}
      union all select key from unnest(${keys}::text[]) key) p`
  const loaded: string[] = []
  for (const { key: point, below, above } of points) {
    const rows = [...below.toReversed(), ...above]
    const keys = rows.map(({ key }) => key)
    if (below.length < limit) keys.unshift(start)
    if (above.length < limit) keys.push(end)
    keys.slice(1).forEach((high, n) => order.addGap(keys[n]!, high))
    for (const { id, key } of rows) {
      if (radius === 1 && key !== point) continue
      order.addTask(key, id)
      loaded.push(id)
    }
  }
  order.radius = Math.max(order.radius, radius)
  return loaded
}

/** SQL for the nearest tasks of a project with a key in this relation to the key of the point `p`, with their keys. */
function nearest(sql: Sql, projectId: string, by: '<=' | '>', limit: number): SqlPart {
  const key = sql.unsafe(positionKey)
  const [is, direction] = [sql.unsafe(by), by === '<=' ? sql`desc` : sql`asc`]
  const parts = partsInOrder().map((part): SqlPart => sql.unsafe(part))
  const nearestIn = (part: SqlPart) => sql`
    (select id, ${key} as key from tasks where project_id = ${projectId} and ${part} and ${key} ${is} p.key
      order by ${key} ${direction} limit ${limit})`
  return sql`(select coalesce(json_agg(n), '[]') from
    (select id, key from (${unionOf(sql, parts, nearestIn)}) n order by key ${direction} limit ${limit}) n)`
}
