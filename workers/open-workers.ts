import { type Processor, Worker, type WorkerOptions } from 'bullmq'
import type { Log } from '../src/log.ts'
import { within } from '../src/within.ts'
import { disconnect, type RedisClient } from '../src/redis/connections.ts'

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
      // The connection logs its own errors.
      worker.on('error', () => {})
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
