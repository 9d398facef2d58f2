import type { OutboxRow } from '../drizzle/rows.ts'
import type { Sql } from '../src/postgres/database.ts'
import { reasonOf } from './reason.ts'

type ClaimedJob = Pick<OutboxRow, 'name' | 'data'> & { isParked: boolean }

/**
 * Counts the attempt before it begins, so that a crash of the worker counts too. Without an attempt left, the job
 * becomes a dead letter. Returns undefined if no job is left to run.
 */
export async function claimJob(sql: Sql, id: string, maxAttempts: number): Promise<ClaimedJob | undefined> {
  const [claimed] = await sql<ClaimedJob[]>`
    update outbox set attempts = least(attempts + 1, ${maxAttempts}), parked_at = case when attempts >= ${maxAttempts} then now() end,
      error = case when attempts >= ${maxAttempts} then coalesce(error, 'The worker ended before the job was done') else error end
    where id = ${id} and parked_at is null returning name, data, parked_at is not null as is_parked`
  return claimed
}

export async function recordFailure(
  sql: Sql,
  id: string,
  maxAttempts: number,
  error: unknown,
): Promise<boolean> {
  const [row] = await sql<{ isParked: boolean }[]>`
    update outbox set error = ${reasonOf(error)}, parked_at = case when attempts >= ${maxAttempts} then now() end
    where id = ${id} and parked_at is null returning parked_at is not null as is_parked`
  return row?.isParked ?? false
}
