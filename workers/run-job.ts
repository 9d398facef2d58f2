import { DelayedError, type Job, UnrecoverableError } from 'bullmq'
import type { OutboxRow } from '../drizzle/rows.ts'
import type { Sql } from '../src/postgres/database.ts'
import type { Log } from '../src/log.ts'
import { type Throttle, SliceEnded } from './throttle.ts'
import { reasonOf } from './reason.ts'

type JobHandler = (data: Record<string, string>, throttle: Throttle) => Promise<unknown>
export type JobHandlers = Record<string, JobHandler>

interface JobRunner {
  sql: Sql
  log: Log
  handlers: JobHandlers
  beginSlice(): Throttle
  attempts: number
}

/** A job that did not finish within `jobSliceMs` is queued again. A job that fails too often becomes a dead letter. */
export async function runJob(runner: JobRunner, job: Job, id: string, token?: string): Promise<void> {
  const claimed = await claimJob(runner.sql, id, runner.attempts).catch(leaveToSweep)
  if (!claimed) return
  const { name } = claimed
  if (claimed.isParked) return logParked(runner.log, id, name, 'the worker crashed at each attempt')
  try {
    const handler = Object.hasOwn(runner.handlers, name) ? runner.handlers[name] : undefined
    if (!handler) throw new Error(`This release has no job ${name}`)
    await handler(claimed.data, runner.beginSlice())
    // The last statement, so that a crash repeats the job.
    await runner.sql`delete from outbox where id = ${id}`
  } catch (error) {
    if (error instanceof SliceEnded) {
      await runner.sql`update outbox set attempts = 0, error = ${error.reason ?? null} where id = ${id} and parked_at is null`
      await job.moveToDelayed(Date.now() + error.delayMs, token)
      throw new DelayedError()
    }
    const reason = reasonOf(error)
    const isParked = await recordFailure(runner.sql, id, runner.attempts, error).catch(leaveToSweep)
    if (isParked) return logParked(runner.log, id, name, reason)
    throw new Error(`${name}: ${reason}`)
  }
}

/** After an error of Postgres, the sweep of the outbox queues the job again later. */
function leaveToSweep(error: unknown): never {
  throw new UnrecoverableError(reasonOf(error))
}

const logParked = (log: Log, id: string, job: string, reason: string) =>
  log.error({ job, id, reason }, 'job failed too often and became a dead letter; see `npm run jobs`')

type ClaimedJob = Pick<OutboxRow, 'name' | 'data'> & { isParked: boolean }

/**
 * Counts the attempt before it begins, so that a crash of the worker counts too. If no attempt is left, the job becomes
 * a dead letter. Returns undefined if the job is done, dropped or already a dead letter.
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
