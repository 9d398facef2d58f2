import { type Processor, Worker, type WorkerOptions } from 'bullmq'
import type { Log } from '../src/log.ts'
import { within } from '../src/within.ts'
import { disconnect, type RedisClient } from '../src/redis/connections.ts'

/** How long Redis may take to answer a worker that closes. */
const pingTimeoutMs = 300
const stepMs = 50

/** Opens workers on one connection; closed, they finish the jobs in progress and take no other. */
export function openWorkers(connection: RedisClient, log: Log) {
  const workers: { close(): Promise<void> }[] = []
  const running = new Set<Promise<unknown>>()

  function tracked<T>(perform: Processor<T>): Processor<T> {
    return (...given) => {
      const done = perform(...given)
      running.add(done)
      return done.finally(() => running.delete(done))
    }
  }

  return {
    open<T>(queueName: string, perform: Processor<T>, options: Omit<WorkerOptions, 'connection'>): void {
      const worker = new Worker<T>(queueName, tracked(perform), { ...options, connection })
      worker.on('error', () => {}) // the connection itself reports that Redis is away
      worker.on('failed', (job, { message }) => log.warn({ id: job?.id, reason: message }, 'job failed'))
      workers.push(worker)
    },

    /** BullMQ alone would wait for Redis, however long it is away. */
    async close(): Promise<void> {
      let isClosed = false
      const closed = Promise.allSettled(workers.map((worker) => worker.close())).then(() => (isClosed = true))
      let isThere = true
      while (!isClosed && (isThere || running.size > 0)) {
        isThere &&= await respondsToPing(connection)
        if (!isThere) disconnect(connection) // what a job still wants from Redis fails, and the job ends
        await within(stepMs, closed)
      }
    },
  }
}

async function respondsToPing(connection: RedisClient): Promise<boolean> {
  if (connection.status !== 'ready') return false
  const answered = connection.ping().catch(() => undefined)
  return (await within(pingTimeoutMs, answered)) !== undefined
}
