import { Queue } from 'bullmq'
import type { OutboxRow } from '../../drizzle/rows.ts'
import type { Config } from '../config.ts'
import { newId } from '../ids.ts'
import type { Log } from '../logger.ts'
import type { Sql } from '../postgres/database.ts'
import { isCluster, hashTag, disconnect, openRedis } from '../redis/connections.ts'
import { within } from '../waits.ts'

export const queueName = 'work'
/** A queue of its own, so that a slow mail server delays no other job. */
export const mailQueueName = 'mail'
const mailJobName = 'send-mail'
/** A queue of its own, so that long imports delay no other job. */
export const importQueueName = 'imports'
export const importJobNames = ['run-import', 'undo-import']

/** BullMQ rejects a prefix that ends with a colon. */
export const queuePrefix = ({ redisPrefix, redisUrl }: Pick<Config, 'redisPrefix' | 'redisUrl'>): string =>
  isCluster(redisUrl) ? hashTag(`${redisPrefix}-jobs`) : `${redisPrefix}-jobs`

export type OutboxJob = Pick<OutboxRow, 'id' | 'projectId' | 'name' | 'data'>

export type Jobs = ReturnType<typeof openJobs>

/** If Redis is unavailable, a worker later finds the jobs in the outbox and enqueues them. */
export function openJobs(config: Config, log: Log) {
  const connection = openRedis(config, log)
  const options = { connection, prefix: queuePrefix(config), skipVersionCheck: true }
  const open = <T>(name: string) => new Queue<T>(name, options).on('error', () => {})
  const queue = open<object>(queueName)
  const mails = open<object>(mailQueueName)
  const imports = open<object>(importQueueName)
  const queueOf = ({ name }: Pick<OutboxJob, 'name'>) =>
    name === mailJobName ? mails : importJobNames.includes(name) ? imports : queue
  return {
    ...{ queue, queueOf },
    open,

    /** A job is enqueued once, because its job id is its outbox id. Returns false if Redis is unavailable. */
    async enqueue(rows: OutboxJob[]): Promise<boolean> {
      try {
        for (const [to, jobs] of Map.groupBy(rows, queueOf))
          await to.addBulk(jobs.map((row) => toBullJob(row, config.jobAttempts)))
        return true
      } catch (error) {
        log.debug({ reason: String(error), jobs: rows.length }, 'cannot enqueue: jobs stay in the outbox')
        return false
      }
    },

    /** Returns the jobs that Redis does not have. */
    async findMissing<J>(all: J[], keyOf: (job: J) => string): Promise<J[]> {
      const replies = (await connection.pipeline(all.map((job) => ['exists', keyOf(job)])).exec()) ?? []
      const error = replies.find(([error]) => error)?.[0]
      if (error) throw error
      return all.filter((_, n) => replies[n]?.[1] === 0)
    },

    async close(): Promise<void> {
      await within(1_000, Promise.allSettled([queue.close(), mails.close(), imports.close()]))
      disconnect(connection)
    },
  }
}

const toBullJob = ({ id }: OutboxJob, attempts: number) => ({
  name: 'job',
  data: {},
  opts: { ...removedAtEnd, jobId: id, attempts, backoff },
})

export const removedAtEnd = { removeOnComplete: true, removeOnFail: true }
const backoff = { type: 'exponential', delay: 500, jitter: 0.5 }

/** SQL: inserts the job into the outbox for each row of the CTE `done`. */
export function insertJob(sql: Sql, job?: OutboxJob) {
  if (!job) return sql`select`
  const { id, projectId, name, data } = job
  return sql`insert into outbox (id, project_id, name, data, created_at)
    select ${id}::uuid, ${projectId}::uuid, ${name}, ${JSON.stringify(data)}::text::jsonb, now() from done`
}

export type MailPurpose = 'verify' | 'reset'

export function mailJob(purpose: MailPurpose, account: { userId: string } | { email: string }): OutboxJob {
  const id = newId()
  return { id, projectId: null, name: mailJobName, data: { id, purpose, ...account } }
}
