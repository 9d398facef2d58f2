import { isNotConnectionError, type Processor, Worker, type WorkerOptions } from 'bullmq'
import type { Log } from '../src/log.ts'
import { within } from '../src/within.ts'
import { errorCode } from '../src/postgres/errors.ts'
import { disconnect, type RedisClient } from '../src/redis/connections.ts'
import { reasonOf } from './reason.ts'

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
