import { Queue } from 'bullmq'
import type { OutboxRow } from '../../drizzle/rows.ts'
import type { Config } from '../config.ts'
import type { Log } from '../log.ts'
import { isCluster, tagged } from '../redis/addresses.ts'
import { disconnect, openRedis, type RedisClient } from '../redis/connections.ts'
import { within } from '../within.ts'

export const queueName = 'work'
/** Mails have a queue of their own: a mail server that does not answer holds up no other job. */
export const mailQueueName = 'mail'
export const mailJobName = 'send-mail'

/** Where BullMQ keeps its keys, in a cluster all in one place; a prefix must not end in a colon. */
export const queuePrefix = ({ redisPrefix, redisUrl }: Pick<Config, 'redisPrefix' | 'redisUrl'>): string =>
  isCluster(redisUrl) ? tagged(`${redisPrefix}-jobs`) : `${redisPrefix}-jobs`

/** Work that a commit owes; the database notes since when. */
export type OwedJob = Pick<OutboxRow, 'id' | 'projectId' | 'name' | 'data'>

export type Jobs = ReturnType<typeof openJobs>

/** The producer's side of the queue. It fails fast: what it cannot hand over, the sweep does later. */
export function openJobs(config: Config, log: Log) {
  const connection = openRedis(config.redisUrl, log)
  const open = <T>(name: string) => {
    const queue = new Queue<T>(name, { connection, prefix: queuePrefix(config), skipVersionCheck: true })
    queue.on('error', () => {}) // the connection itself reports that Redis is away
    return queue
  }
  const queue = open<object>(queueName)
  const mails = open<object>(mailQueueName)
  const queueOf = ({ name }: Pick<OwedJob, 'name'>) => (name === mailJobName ? mails : queue)
  return {
    queue,
    /** The queue that a job goes through. */
    queueOf,

    /** Another queue on the same connection; whoever opens it closes it. */
    open,

    /** Gives jobs to the workers, each once: the outbox id is the job's id. True when Redis took them. */
    async handOver(rows: OwedJob[]): Promise<boolean> {
      try {
        const queued = [...Map.groupBy(rows, queueOf)]
        await Promise.all(
          queued.map(([to, jobs]) => to.addBulk(jobs.map((row) => jobOf(row, config.jobAttempts)))),
        )
        return true
      } catch (error) {
        log.debug({ reason: String(error), jobs: rows.length }, 'jobs stay in the outbox for the sweep')
        return false
      }
    },

    absent: (of: Pick<Queue, 'toKey'>, ids: string[]) => absent(connection, of, ids),

    async close(): Promise<void> {
      await within(1_000, Promise.allSettled([queue.close(), mails.close()]))
      disconnect(connection)
    },
  }
}

/** The ids that a queue does not hold, be it waiting, late or under way. One round trip; fails without Redis. */
async function absent(
  redis: RedisClient,
  { toKey }: Pick<Queue, 'toKey'>,
  ids: string[],
): Promise<Set<string>> {
  const asked = redis.pipeline(ids.map((id) => ['exists', toKey(id)]))
  const told = (await asked.exec()) ?? []
  const error = told.find(([error]) => error)?.[0]
  if (error) throw error
  return new Set(ids.filter((_, i) => told[i]?.[1] === 0))
}

/** The queue carries the id of the outbox row alone: what is done is read from the row, which nobody can change in Redis. */
const jobOf = ({ id }: OwedJob, attempts: number) => ({
  name: 'job',
  data: {},
  opts: { ...forgotten, jobId: id, attempts, backoff },
})

/** What is over leaves the queue: what is still owed stands in the outbox. */
export const forgotten = { removeOnComplete: true, removeOnFail: true }
/** Half a second, doubled each time. */
const backoff = { type: 'exponential', delay: 500, jitter: 0.5 }
