import { DelayedError, type Job, UnrecoverableError } from 'bullmq'
import type { Sql } from '../src/postgres/database.ts'
import type { JobData } from '../src/jobs/queue.ts'
import type { Log } from '../src/log.ts'
import { begin, fail, settle, toBeContinued } from './outbox.ts'
import { type Pace, SliceOver } from './pace.ts'
import { reasonOf } from './reason.ts'

export type Work = Record<string, (data: Record<string, string>, pace: Pace) => Promise<unknown>>

export interface Bench {
  sql: Sql
  log: Log
  work: Work
  /** The pace of a job whose slice begins now. */
  beginSlice(): Pace
  attempts: number
}

/**
 * Runs one slice of a job that the outbox owes. A long one goes to the back of the queue when its slice is over; one that
 * fails is tried again, by the queue as long as it knows of it, else by the sweep; one that failed too often is parked.
 */
export async function runJob(by: Bench, job: Job<JobData>, token?: string): Promise<void> {
  const { outboxId: id, data } = job.data
  const state = await begin(by.sql, id, by.attempts).catch(leave)
  if (state === 'gone') return
  if (state === 'parked') return tellParked(by.log, job, 'its worker ended each time')
  try {
    const work = by.work[job.name]
    if (!work) throw new Error(`There is no work called ${job.name}`)
    await work(data, by.beginSlice())
    await settle(by.sql, id)
  } catch (error) {
    if (error instanceof SliceOver) {
      await toBeContinued(by.sql, id)
      await job.moveToDelayed(Date.now(), token)
      throw new DelayedError()
    }
    const reason = reasonOf(error)
    if (await fail(by.sql, id, by.attempts, error).catch(leave)) return tellParked(by.log, job, reason)
    throw new Error(reason)
  }
}

/** The outbox cannot be asked. The job leaves the queue: the sweep brings it again as soon as it can ask. */
function leave(error: unknown): never {
  throw new UnrecoverableError(reasonOf(error))
}

const tellParked = (log: Log, { name, data }: Job<JobData>, reason: string) =>
  log.error({ job: name, id: data.outboxId, reason }, 'job parked; see `npm run jobs`')
