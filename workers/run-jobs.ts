import { DelayedError, type Job, type Processor, UnrecoverableError } from 'bullmq'
import { Worker, type WorkerOptions } from 'bullmq'
import type { OutboxRow } from '../drizzle/rows.ts'
import { outbox } from '../drizzle/schema/jobs.ts'
import { type Jobs, removedAtEnd } from '../src/jobs/queue.ts'
import type { Log } from '../src/logger.ts'
import { columnList } from '../src/postgres/columns.ts'
import type { Sql } from '../src/postgres/database.ts'
import { disconnect, type RedisClient } from '../src/redis/connections.ts'
import { within } from '../src/waits.ts'
import { reasonOf, SliceEnded, type Throttle, warnRarely } from './throttle.ts'

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
  if (claimed.isParked) return logDeadLetter(runner.log, id, name, 'the worker crashed at each attempt')
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
    if (isParked) return logDeadLetter(runner.log, id, name, reason)
    throw new Error(`${name}: ${reason}`)
  }
}

/** After an error of Postgres, the sweep of the outbox queues the job again later. */
function leaveToSweep(error: unknown): never {
  throw new UnrecoverableError(reasonOf(error))
}

const logDeadLetter = (log: Log, id: string, job: string, reason: string) =>
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

export const recurringQueue = 'recurring'
const everyMs = 300_000
/** A step rests this many times as long as it ran, so that it does not read large tables all the time. */
const restFactor = 20
const maxRestMs = 3_600_000

export type Steps = Record<string, (throttle: Throttle) => Promise<void>>

/** A recurring step is a job that schedules its next run after each run. `restore` adds jobs that Redis has lost. */
export function openRecurring(jobs: Jobs, steps: Steps) {
  const queue = jobs.open<object>(recurringQueue)
  return {
    async restore() {
      const missing = await jobs.findMissing(Object.keys(steps), queue.toKey.bind(queue))
      const added = missing.map((name) => ({ name, data: {}, opts: { ...removedAtEnd, jobId: name } }))
      if (added.length > 0) await queue.addBulk(added)
    },
    close: () => queue.close(),
  }
}

/** A run goes through all rows. When a worker stops, another worker begins the run again at once. */
export async function runStep(steps: Steps, throttle: Throttle, log: Log, job: Job, token?: string) {
  const step = steps[job.name]
  if (!step) return
  const began = performance.now()
  await step(throttle).catch((error: unknown) => {
    if (!(error instanceof SliceEnded))
      log.error({ step: job.name, reason: reasonOf(error) }, 'recurring step failed')
  })
  const restMs = Math.max(everyMs, Math.min(restFactor * (performance.now() - began), maxRestMs))
  const isStopped = throttle.isOver?.() ?? false
  await job.moveToDelayed(Math.round(Date.now() + (isStopped ? 0 : restMs)), token)
  throw new DelayedError()
}

/** One sweep checks only the oldest jobs. When they end or become dead letters, others are the oldest. */
const sweepRows = 10_000

/** Queues the jobs that Redis has lost, and returns their number. */
export async function sweep(sql: Sql, jobs: Jobs): Promise<number> {
  const rows = await sql<OutboxRow[]>`
    select ${columnList(sql, outbox, 'outbox')} from outbox where parked_at is null order by created_at, id limit ${sweepRows}`
  const missing = await jobs.findMissing(rows, (row) => jobs.queueOf(row).toKey(row.id))
  return (await jobs.enqueue(missing)) ? missing.length : 0
}

const pingTimeoutMs = 300
const pollMs = 50

/** `close` waits for the running jobs and starts no other job. */
export function openWorkers(connection: RedisClient, log: Log) {
  const workers: { close(): Promise<void> }[] = []
  const running = new Set<Promise<unknown>>()

  function tracked<T>(processJob: Processor<T>): Processor<T> {
    return (...args) => {
      const done = processJob(...args)
      running.add(done)
      return done.finally(() => running.delete(done))
    }
  }

  return {
    open<T>(queueName: string, processJob: Processor<T>, options: Omit<WorkerOptions, 'connection'>): void {
      const worker = new Worker<T>(queueName, tracked(processJob), { ...options, connection })
      worker.on('error', warnRarely(log, 'a worker of a queue has an error', { queue: queueName }))
      worker.on('failed', (job, { message }) => log.warn({ id: job?.id, reason: message }, 'job failed'))
      workers.push(worker)
    },

    /** BullMQ's `close` waits without limit while Redis is unreachable, so this function checks the connection. */
    async close(): Promise<void> {
      let isClosed = false
      const closed = Promise.allSettled(workers.map((worker) => worker.close())).then(() => (isClosed = true))
      let isConnected = true
      while (!isClosed && (isConnected || running.size > 0)) {
        isConnected &&= await respondsToPing(connection)
        // Pending Redis calls then fail, so that running jobs end.
        if (!isConnected) disconnect(connection)
        await within(pollMs, closed)
      }
    },
  }
}

async function respondsToPing(connection: RedisClient): Promise<boolean> {
  if (connection.status !== 'ready') return false
  const reply = connection.ping().catch(() => undefined)
  return (await within(pingTimeoutMs, reply)) !== undefined
}
