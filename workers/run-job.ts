import {
  DelayedError,
  type Job,
  UnrecoverableError,
  isNotConnectionError,
  type Processor,
  Worker,
  type WorkerOptions,
} from 'bullmq'
import type { OutboxRow } from '../drizzle/rows.ts'
import type { Log } from '../src/logger.ts'
import type { Sql } from '../src/postgres/database.ts'
import { errorCode } from '../src/postgres/errors.ts'
import { disconnect, type RedisClient } from '../src/redis/connections.ts'
import { within } from '../src/waits.ts'
import { reasonOf } from './reason.ts'
import { type Throttle, SliceEnded } from './throttle.ts'

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

const pingTimeoutMs = 300
const pollMs = 50
/** A repeated error of a worker is logged again after this time. */
const errorRepeatMs = 60_000

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
      worker.on('error', openErrorLog(log, queueName))
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

/** Returns a function that logs errors of a worker. The connection logs its own errors. */
function openErrorLog(log: Log, queue: string) {
  let [lastReason, lastAt] = ['', -Infinity]
  return (error: Error): void => {
    const reason = reasonOf(error)
    const now = performance.now()
    if (isOfConnection(error) || (reason === lastReason && now < lastAt + errorRepeatMs)) return
    ;[lastReason, lastAt] = [reason, now]
    log.warn({ queue, reason }, 'a worker of a queue has an error')
  }
}

/** Errors of sockets have a code, such as ECONNRESET. */
const isOfConnection = (error: Error): boolean => !isNotConnectionError(error) || errorCode(error) !== ''

async function respondsToPing(connection: RedisClient): Promise<boolean> {
  if (connection.status !== 'ready') return false
  const reply = connection.ping().catch(() => undefined)
  return (await within(pingTimeoutMs, reply)) !== undefined
}
