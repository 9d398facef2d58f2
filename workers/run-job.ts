import { DelayedError, type Job, UnrecoverableError } from 'bullmq'
import type { OutboxRow } from '../drizzle/rows.ts'
import type { Sql } from '../src/postgres/database.ts'
import type { Log } from '../src/log.ts'
import { type Throttle, SliceEnded } from './throttle.ts'
import { reasonOf } from './reason.ts'

export type JobHandlers = Record<string, (data: Record<string, string>, pace: Throttle) => Promise<unknown>>

export interface JobRunner {
  sql: Sql
  log: Log
  work: JobHandlers
  beginSlice(): Throttle
  attempts: number
}

/**
 * Runs one slice of the job of an outbox row: the queue carries no more than its id. A job that is not done goes to the back
 * of the queue. One that fails is retried by the queue or the sweep, and parked in the end.
 */
export async function runJob(by: JobRunner, job: Job, id: string, token?: string): Promise<void> {
  const owed = await claimJob(by.sql, id, by.attempts).catch(leaveToSweep)
  if (!owed) return
  if (owed.isParked) return logParked(by.log, id, owed.name, 'its worker ended each time')
  try {
    const work = Object.hasOwn(by.work, owed.name) ? by.work[owed.name] : undefined
    if (!work) throw new Error(`There is no work called ${owed.name}`)
    await work(owed.data, by.beginSlice())
    await by.sql`delete from outbox where id = ${id}` // only now: a crash before repeats the job
  } catch (error) {
    if (error instanceof SliceEnded) {
      await by.sql`update outbox set attempts = 0, error = null where id = ${id} and parked_at is null`
      await job.moveToDelayed(Date.now(), token)
      throw new DelayedError()
    }
    const reason = reasonOf(error)
    const isParked = await recordFailure(by.sql, id, by.attempts, error).catch(leaveToSweep)
    if (isParked) return logParked(by.log, id, owed.name, reason)
    throw new Error(`${owed.name}: ${reason}`)
  }
}

/** Postgres cannot be reached. The job leaves the queue: the sweep queues it again. */
function leaveToSweep(error: unknown): never {
  throw new UnrecoverableError(reasonOf(error))
}

const logParked = (log: Log, id: string, job: string, reason: string) =>
  log.error({ job, id, reason }, 'job parked; see `npm run jobs`')

type ClaimedJob = Pick<OutboxRow, 'name' | 'data'> & { isParked: boolean }

/**
 * Counts an attempt before it begins, so that one whose worker dies counts too; after the last attempt it parks the job.
 * Undefined for a job that is done, dropped or parked.
 */
export async function claimJob(sql: Sql, id: string, most: number): Promise<ClaimedJob | undefined> {
  const [owed] = await sql<ClaimedJob[]>`
    update outbox set attempts = least(attempts + 1, ${most}), parked_at = case when attempts >= ${most} then now() end,
      error = case when attempts >= ${most} then coalesce(error, 'The worker ended before the job did') else error end
    where id = ${id} and parked_at is null returning name, data, parked_at is not null as is_parked`
  return owed
}

/** Notes why an attempt failed. True when it was the last one: the job is parked. */
export async function recordFailure(sql: Sql, id: string, most: number, error: unknown): Promise<boolean> {
  const [row] = await sql<{ isParked: boolean }[]>`
    update outbox set error = ${reasonOf(error)}, parked_at = case when attempts >= ${most} then now() end
    where id = ${id} and parked_at is null returning parked_at is not null as is_parked`
  return row?.isParked ?? false
}
