import type { Job } from 'bullmq'
import { importQueueName, mailQueueName, queueName, queuePrefix } from '../src/jobs/queue.ts'
import { disconnect, openBlocking } from '../src/redis/connections.ts'
import type { Services } from '../src/services.ts'
import { within } from '../src/waits.ts'
import { purgeProject, purgeTask, unassignMember, closeAccount } from './cascade.ts'
import { recurringSteps } from './cleanup.ts'
import { openRunImport } from './imports/run-import.ts'
import { openUndoImport } from './imports/undo-import.ts'
import { openSendMail } from './mail/send-mail.ts'
import type { JobName } from './reactions.ts'
import { type ChangedProjects, startReadyEvents, startSearchIndexing } from './followers.ts'
import { openRecurring, recurringQueue, runStep, sweep } from './run-jobs.ts'
import { openWorkers, runJob, type JobHandlers } from './run-jobs.ts'
import { beginSlice, openLoops } from './throttle.ts'
import { startTimedEvents } from './timed-events.ts'
import { startWebhookDelivery } from './webhooks/start.ts'

const importConcurrency = 4

/** Returns a function that stops the workers: running jobs finish, or return to the queue. */
export function startWorkers(services: Services, changed: ChangedProjects = new Map()): () => Promise<void> {
  const { config, log, jobs } = services
  const sql = services.database.background
  const loops = openLoops(services)
  const begin = () => beginSlice(config, loops.isStopping)
  const connection = openBlocking(config.redisUrl, log)
  const handlers = jobHandlers(services)
  const runner = { sql, log, handlers, beginSlice: begin, attempts: config.jobAttempts }
  const steps = recurringSteps(services)
  const options = { ...workerOptions, prefix: queuePrefix(config) }
  const workers = openWorkers(connection, log)
  const processJob = (job: Job, token?: string) => runJob(runner, job, job.id ?? '', token)
  for (const name of [queueName, mailQueueName])
    workers.open(name, processJob, { ...options, concurrency: config.jobConcurrency })
  workers.open(importQueueName, processJob, { ...options, concurrency: importConcurrency })
  workers.open(recurringQueue, (job, token) => runStep(steps, loops.pages, log, job, token), {
    ...options,
    concurrency: Object.keys(steps).length,
  })
  log.info({ concurrency: config.jobConcurrency }, 'working')
  const recurring = openRecurring(jobs, steps)
  loops.every(config.sweepEveryMs, () => sweep(sql, jobs))
  loops.every(config.sweepEveryMs, recurring.restore)
  const endDeliveries = startWebhookDelivery(services, loops)
  startTimedEvents(services, loops)
  startReadyEvents(services, loops)
  startSearchIndexing(services, loops, changed)

  return async () => {
    const ends = [loops.stop(), endDeliveries(), workers.close(), recurring.close()]
    await within(config.drainTimeoutMs, Promise.allSettled(ends))
    disconnect(connection)
  }
}

/** Another worker continues the jobs of a killed worker after at most 7 s: when the locks have expired, and two searches later. */
const workerOptions = {
  // Renewed every 2.5 s at the latest.
  lockDuration: 5_000,
  stalledInterval: 1_000,
  // The outbox limits the attempts.
  maxStalledCount: 1_000,
  runRetryDelay: 1_000,
  skipVersionCheck: true,
}

const jobHandlers = (services: Services): Record<JobName, JobHandlers[string]> => {
  const { run } = services
  const sql = services.database.background
  return {
    'purge-project': ({ projectId = '' }, throttle) => purgeProject(sql, projectId, throttle),
    'purge-task': (data, throttle) => purgeTask(sql, data, throttle),
    'unassign-member': ({ projectId = '', userId = '' }, throttle) =>
      unassignMember(sql, run, { projectId, userId }, throttle),
    'close-account': (data, throttle) => closeAccount(sql, run, data, throttle),
    'send-mail': openSendMail(services),
    'run-import': openRunImport(services),
    'undo-import': openUndoImport(services),
  }
}
