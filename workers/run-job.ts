import { DelayedError, type Job, UnrecoverableError } from 'bullmq'
import type { Sql } from '../src/postgres/database.ts'
import type { Log } from '../src/log.ts'
import { begin, fail, settle, toBeContinued } from './outbox.ts'
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
 * Runs one slice of the job that an outbox row owes, as the row says: the queue is believed no more than an id. A job that is
 * not done goes to the back of the queue. One that fails is retried by the queue or the sweep, and parked in the end.
 */
export async function runJob(by: Bench, job: Job, id: string, token?: string): Promise<void> {
  const owed = await begin(by.sql, id, by.attempts).catch(leave)
  if (owed.state === 'gone') return
  if (owed.state === 'parked') return tellParked(by.log, id, owed.name, 'its worker ended each time')
  try {
    const work = Object.hasOwn(by.work, owed.name) ? by.work[owed.name] : undefined
    if (!work) throw new Error(`There is no work called ${owed.name}`)
    await work(owed.data, by.beginSlice())
    await settle(by.sql, id)
  } catch (error) {
    if (error instanceof SliceOver) {
      await toBeContinued(by.sql, id)
      await job.moveToDelayed(Date.now(), token)
      throw new DelayedError()
    }
    const reason = reasonOf(error)
    const isParked = await fail(by.sql, id, by.attempts, error).catch(leave)
    if (isParked) return tellParked(by.log, id, owed.name, reason)
    throw new Error(`${owed.name}: ${reason}`)
  }
}

/** The outbox cannot be asked. The job leaves the queue: the sweep brings it again as soon as it can ask. */
function leave(error: unknown): never {
  throw new UnrecoverableError(reasonOf(error))
}

const tellParked = (log: Log, id: string, job: string, reason: string) =>
  log.error({ job, id, reason }, 'job parked; see `npm run jobs`')
