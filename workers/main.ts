import { type Job, Worker } from 'bullmq'
import { type JobData, queueName, queuePrefix } from '../src/core/jobs.ts'
import { openBlocking } from '../src/core/redis.ts'
import type { Services } from '../src/services.ts'
import { purgeChildren, purgeProject, unassignMember } from './cascade.ts'
import { cleanup, expireKeys, expireRevokedTokens } from './cleanup.ts'
import { closeAccount, closeLeftAccounts } from './close-account.ts'
import type { JobName } from './reactions.ts'
import { settle } from './relay.ts'
import { startSchedule } from './schedule.ts'

/** Starts the worker side of a process; answers how to stop it: jobs under way are finished or given back. */
export function startWorkers(services: Services): () => Promise<void> {
  const { config, log, actors, jobs } = services
  const sql = services.database.chores
  const pace = { batchRows: config.jobBatchRows, pauseMs: config.jobPauseMs }

  const work: Record<JobName, (data: Record<string, string>) => Promise<unknown>> = {
    'purge-project': ({ projectId = '' }) => purgeProject(sql, projectId, pace),
    'purge-task': ({ taskId = '' }) => purgeChildren(sql, [taskId], pace),
    'unassign-member': ({ projectId = '', userId = '' }) =>
      unassignMember(sql, actors, { projectId, userId }, pace),
    'close-account': ({ userId = '' }) => closeAccount(sql, actors, userId, pace),
    cleanup: async () => {
      await cleanup(sql)
      await closeLeftAccounts(sql)
      await expireKeys(sql, config.idempotencyHours, config.jobBatchRows)
      await expireRevokedTokens(sql, config.jobBatchRows)
    },
  }

  const connection = openBlocking(config.redisUrl, log)
  const worker = new Worker<JobData>(
    queueName,
    async ({ name, data }: Job<JobData>) => {
      await work[name as JobName](data.data ?? {})
      if (data.outboxId) await settle(sql, data.outboxId)
    },
    {
      connection,
      prefix: queuePrefix(config),
      concurrency: config.jobConcurrency,
      lockDuration: 10_000,
      stalledInterval: 5_000,
      maxStalledCount: 1_000, // a job is safe to run again, however often its worker dies
      skipVersionCheck: true,
    },
  )
  worker.on('error', () => {}) // the connection itself reports that Redis is away
  worker.on('failed', (job, error) =>
    log.error({ job: job?.name, id: job?.id, reason: error.message }, 'job failed'),
  )
  log.info({ concurrency: config.jobConcurrency }, 'working')
  const stopSchedule = startSchedule(sql, jobs, log, config.sweepEveryMs)

  return async () => {
    await stopSchedule()
    const late = new Promise((resolve) => setTimeout(resolve, config.drainTimeoutMs))
    await Promise.race([worker.close().catch(() => {}), late])
    connection.disconnect()
  }
}
