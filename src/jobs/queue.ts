import { Queue } from 'bullmq'
import type { OutboxRow } from '../../drizzle/rows.ts'
import type { Config } from '../config.ts'
import { newId } from '../ids.ts'
import type { Log } from '../log.ts'
import type { Sql } from '../postgres/database.ts'
import { isCluster, tagged } from '../redis/addresses.ts'
import { disconnect, openRedis } from '../redis/connections.ts'
import { within } from '../within.ts'

export const queueName = 'work'
/** A separate queue, so that a silent mail server delays no other job. */
export const mailQueueName = 'mail'
export const mailJobName = 'send-mail'

/** BullMQ rejects a colon at the end. */
export const queuePrefix = ({ redisPrefix, redisUrl }: Pick<Config, 'redisPrefix' | 'redisUrl'>): string =>
  isCluster(redisUrl) ? tagged(`${redisPrefix}-jobs`) : `${redisPrefix}-jobs`

/** Written with a commit into the outbox. */
export type OwedJob = Pick<OutboxRow, 'id' | 'projectId' | 'name' | 'data'>

export type Jobs = ReturnType<typeof openJobs>

/** The producer. The sweep hands over what it could not. */
export function openJobs(config: Config, log: Log) {
  const connection = openRedis(config.redisUrl, log)
  const options = { connection, prefix: queuePrefix(config), skipVersionCheck: true }
  // The connection itself reports that Redis is away.
  const open = <T>(name: string) => new Queue<T>(name, options).on('error', () => {})
  const queue = open<object>(queueName)
  const mails = open<object>(mailQueueName)
  const queueOf = ({ name }: Pick<OwedJob, 'name'>) => (name === mailJobName ? mails : queue)
  return {
    ...{ queue, queueOf },
    /** Another queue on the same connection. The caller closes it. */
    open,

    /** Each job once, because its id is that of its outbox row. False without Redis. */
    async handOver(rows: OwedJob[]): Promise<boolean> {
      try {
        for (const [to, jobs] of Map.groupBy(rows, queueOf))
          await to.addBulk(jobs.map((row) => jobOf(row, config.jobAttempts)))
        return true
      } catch (error) {
        log.debug({ reason: String(error), jobs: rows.length }, 'jobs stay in the outbox for the sweep')
        return false
      }
    },

    /** The ids that a queue does not hold. @throws without Redis */
    async absent({ toKey }: Pick<Queue, 'toKey'>, ids: string[]): Promise<Set<string>> {
      const told = (await connection.pipeline(ids.map((id) => ['exists', toKey(id)])).exec()) ?? []
      const error = told.find(([error]) => error)?.[0]
      if (error) throw error
      return new Set(ids.filter((_, i) => told[i]?.[1] === 0))
    },

    async close(): Promise<void> {
      await within(1_000, Promise.allSettled([queue.close(), mails.close()]))
      disconnect(connection)
    },
  }
}

/** Workers read the job from its outbox row: only the id is in Redis. */
const jobOf = ({ id }: OwedJob, attempts: number) => ({
  name: 'job',
  data: {},
  opts: { ...forgotten, jobId: id, attempts, backoff },
})

/** The outbox holds unfinished jobs. */
export const forgotten = { removeOnComplete: true, removeOnFail: true }
const backoff = { type: 'exponential', delay: 500, jitter: 0.5 }

/** The part of a statement that writes a job to the outbox, if the part `done` returns a row. */
export function owe(sql: Sql, job?: OwedJob) {
  if (!job) return sql`select`
  const { id, projectId, name, data } = job
  return sql`insert into outbox (id, project_id, name, data, created_at)
    select ${id}::uuid, ${projectId}::uuid, ${name}, ${JSON.stringify(data)}::text::jsonb, now() from done`
}

export type Purpose = 'verify' | 'reset'

/** Sends a mail to an account. */
export function mailJob(purpose: Purpose, account: { userId: string } | { email: string }): OwedJob {
  const id = newId()
  return { id, projectId: null, name: mailJobName, data: { id, purpose, ...account } }
}
