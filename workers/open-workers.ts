import { type Processor, Worker, type WorkerOptions } from 'bullmq'
import type { Log } from '../src/log.ts'
import { within } from '../src/within.ts'
import { disconnect, type RedisClient } from '../src/redis/connections.ts'

/** How long Redis may take to answer a worker that closes. */
const goodbyeMs = 300
const stepMs = 50

/** Opens workers on one connection; closed, they finish the jobs in progress and take no other. */
export function openWorkers(connection: RedisClient, log: Log) {
  const workers: { close(): Promise<void> }[] = []
  const underWay = new Set<Promise<unknown>>()

  function noted<T>(perform: Processor<T>): Processor<T> {
    return (...given) => {
      const done = perform(...given)
      underWay.add(done)
      return done.finally(() => underWay.delete(done))
    }
  }

  return {
    open<T>(queueName: string, perform: Processor<T>, options: Omit<WorkerOptions, 'connection'>): void {
      const worker = new Worker<T>(queueName, noted(perform), { ...options, connection })
      worker.on('error', () => {}) // the connection itself reports that Redis is away
      worker.on('failed', (job, { message }) => log.warn({ id: job?.id, reason: message }, 'job failed'))
      workers.push(worker)
    },

    /** BullMQ alone would wait for Redis, however long it is away. */
    async close(): Promise<void> {
      let isClosed = false
      const closed = Promise.allSettled(workers.map((worker) => worker.close())).then(() => (isClosed = true))
      let isThere = true
      while (!isClosed && (isThere || underWay.size > 0)) {
        isThere &&= await answers(connection)
        if (!isThere) disconnect(connection) // what a job still wants from Redis fails, and the job ends
        await within(stepMs, closed)
      }
    },
  }
}

async function answers(connection: RedisClient): Promise<boolean> {
  if (connection.status !== 'ready') return false
  const answered = connection.ping().catch(() => undefined)
  return (await within(goodbyeMs, answered)) !== undefined
}
