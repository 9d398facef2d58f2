import type { OutboxRow } from '../drizzle/rows.ts'
import type { Sql } from '../src/postgres/database.ts'
import { reasonOf } from './reason.ts'

const died = 'The worker ended before the job did'

/** What to do, as the commit that owes it wrote it down. */
export type OwedWork = Pick<OutboxRow, 'name' | 'data'>

/**
 * Counts a try before it begins, so that one whose worker dies counts too, and whatever Redis forgets. `gone` when there
 * is nothing to do: done, dropped or parked meanwhile. `parked` when the last try was begun and never ended.
 */
export async function begin(sql: Sql, id: string, most: number) {
  const [begun] = await sql<OwedWork[]>`
    update outbox set attempts = attempts + 1
    where id = ${id} and parked_at is null and attempts < ${most} returning name, data`
  if (begun) return { state: 'begun', ...begun } as const
  const [parked] = await sql<OwedWork[]>`
    update outbox set parked_at = now(), error = coalesce(error, ${died})
    where id = ${id} and parked_at is null and attempts >= ${most} returning name, data`
  return parked ? ({ state: 'parked', ...parked } as const) : ({ state: 'gone' } as const)
}

/** The job is done: only now its row leaves the outbox. */
export async function settle(sql: Sql, id: string): Promise<void> {
  await sql`delete from outbox where id = ${id}`
}

/** The job got on, and is to be continued: what failed before is forgiven. */
export async function toBeContinued(sql: Sql, id: string): Promise<void> {
  await sql`update outbox set attempts = 0, error = null where id = ${id} and parked_at is null`
}

/** The job failed. True when that was once too often: it is parked, with what the last error said. */
export async function fail(sql: Sql, id: string, most: number, error: unknown): Promise<boolean> {
  const [row] = await sql<{ isParked: boolean }[]>`
    update outbox set error = ${reasonOf(error)}, parked_at = case when attempts >= ${most} then now() end
    where id = ${id} and parked_at is null returning parked_at is not null as is_parked`
  return row?.isParked ?? false
}
