import { Queue } from 'bullmq'
import type { OutboxRow } from '../../drizzle/schema.ts'
import type { Config } from './config.ts'
import type { Log } from './log.ts'
import { openRedis } from './redis.ts'

export const queueName = 'work'

/** Where BullMQ keeps its keys; a prefix must not end in a colon. */
export const queuePrefix = (config: Pick<Config, 'redisPrefix'>): string => `${config.redisPrefix}-jobs`

/** Work that a commit owes; the database notes since when. */
export type OwedJob = Pick<OutboxRow, 'id' | 'projectId' | 'name' | 'data'>

export interface JobData {
  /** The outbox row that stays until the job is done. */
  outboxId: string
  projectId: string | null
  data: Record<string, string>
}

export type Jobs = ReturnType<typeof openJobs>

/** The producer's side of the queue. It fails fast: what it cannot hand over, the sweep does later. */
export function openJobs(config: Config, log: Log) {
  const connection = openRedis(config.redisUrl, log)
  const queue = new Queue<JobData>(queueName, {
    connection,
    prefix: queuePrefix(config),
    skipVersionCheck: true,
  })
  queue.on('error', () => {}) // the connection itself reports that Redis is away
  return {
    queue,

    /** Gives jobs to the workers, each once: the outbox id is the job's id. True when Redis took them. */
    async handOver(rows: OwedJob[]): Promise<boolean> {
      const jobs = rows.map(({ id, projectId, name, data }) => {
        const opts = { jobId: id, removeOnComplete: true, removeOnFail: true, attempts: 5, backoff }
        return { name, data: { outboxId: id, projectId, data }, opts }
      })
      try {
        await queue.addBulk(jobs)
        return true
      } catch (error) {
        log.debug({ reason: String(error), jobs: rows.length }, 'jobs stay in the outbox for the sweep')
        return false
      }
    },

    async close(): Promise<void> {
      await Promise.race([
        queue.close().catch(() => {}),
        new Promise((resolve) => setTimeout(resolve, 1_000)),
      ])
      connection.disconnect()
    },
  }
}

const backoff = { type: 'exponential', delay: 500, jitter: 0.5 }
