import { DelayedError, type Job, UnrecoverableError } from 'bullmq'
import type { OutboxRow } from '../drizzle/rows.ts'
import type { Sql } from '../src/postgres/database.ts'
import type { Log } from '../src/log.ts'
import { type Pace, SliceOver } from './pace.ts'
import { reasonOf } from './reason.ts'

export type Work = Record<string, (data: Record<string, string>, pace: Pace) => Promise<unknown>>

export interface Bench {
  sql: Sql
  log: Log
  work: Work
  beginSlice(): Pace
  attempts: number
}

/**
 * Runs one slice of the job of an outbox row: the queue carries no more than its id. A job that is not done goes to the back
 * of the queue. One that fails is retried by the queue or the sweep, and parked in the end.
 */
export async function runJob(by: Bench, job: Job, id: string, token?: string): Promise<void> {
  const owed = await begin(by.sql, id, by.attempts).catch(leave)
  if (owed.state === 'gone') return
  if (owed.state === 'parked') return tellParked(by.log, id, owed.name, 'its worker ended each time')
  try {
    const work = Object.hasOwn(by.work, owed.name) ? by.work[owed.name] : undefined
    if (!work) throw new Error(`There is no work called ${owed.name}`)
    await work(owed.data, by.beginSlice())
    await by.sql`delete from outbox where id = ${id}` // only now: a crash before repeats the job
  } catch (error) {
    if (error instanceof SliceOver) {
      await by.sql`update outbox set attempts = 0, error = null where id = ${id} and parked_at is null`
      await job.moveToDelayed(Date.now(), token)
      throw new DelayedError()
    }
    const reason = reasonOf(error)
    const isParked = await fail(by.sql, id, by.attempts, error).catch(leave)
    if (isParked) return tellParked(by.log, id, owed.name, reason)
    throw new Error(`${owed.name}: ${reason}`)
  }
}

/** Postgres cannot be reached. The job leaves the queue: the sweep queues it again. */
function leave(error: unknown): never {
  throw new UnrecoverableError(reasonOf(error))
}

const tellParked = (log: Log, id: string, job: string, reason: string) =>
  log.error({ job, id, reason }, 'job parked; see `npm run jobs`')

const died = 'The worker ended before the job did'

type OwedWork = Pick<OutboxRow, 'name' | 'data'>

/**
 * Counts an attempt before it begins, so that one whose worker dies counts too. `gone`: the job is done, dropped or parked.
 * `parked`: the last attempt began and never ended.
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

/** Notes why an attempt failed. True when it was the last one: the job is parked. */
export async function fail(sql: Sql, id: string, most: number, error: unknown): Promise<boolean> {
  const [row] = await sql<{ isParked: boolean }[]>`
    update outbox set error = ${reasonOf(error)}, parked_at = case when attempts >= ${most} then now() end
    where id = ${id} and parked_at is null returning parked_at is not null as is_parked`
  return row?.isParked ?? false
}
