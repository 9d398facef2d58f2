import type { Job } from 'bullmq'
import { nilId } from '../src/id-format.ts'
import { importQueueName, mailQueueName, queueName, queuePrefix } from '../src/jobs/queue.ts'
import { disconnect, openBlocking } from '../src/redis/connections.ts'
import type { Services } from '../src/services.ts'
import { repeatedly, within } from '../src/waits.ts'
import { purgeProject, purgeTask, unassignMember, closeAccount } from './cascade.ts'
import {
  expireApiTokens,
  expireDocuments,
  expireKeys,
  expireMailTokens,
  expireRevokedTokens,
  expireEvents,
  orphanDocuments,
  orphanMembers,
  orphanProjects,
  orphanStreams,
  queueOrphanJobs,
  type OrphanSearch,
} from './cleanup.ts'
import { expireImports, endLostImports } from './imports/remove.ts'
import { openRunImport } from './imports/run-import.ts'
import { openUndoImport } from './imports/undo-import.ts'
import { openSendMail } from './mail/send-mail.ts'
import type { JobName } from './reactions.ts'
import type { ChangedProjects } from './followers.ts'
import { startReadyEvents } from './ready-events.ts'
import { openRecurring, type StepData, recurringQueue, runStep, type Steps, openSweep } from './recurring.ts'
import { openWorkers, runJob, type JobHandlers } from './run-job.ts'
import { startSearchIndexing } from './search-index.ts'
import { beginSlice } from './throttle.ts'
import { startTimedEvents } from './timed-events.ts'
import { expireDeliveries, reencryptSecrets } from './webhooks/recurring.ts'
import { startWebhookDelivery } from './webhooks/start.ts'

const searchRows = 5_000
const importConcurrency = 4
/** The document of a deleted row remains for this time, so that a slow process does not write an older document. */
const deletedHours = 1

/** Returns a function that stops the workers: running jobs finish, or return to the queue. */
export function startWorkers(services: Services, changed: ChangedProjects = new Map()): () => Promise<void> {
  const { config, log, jobs } = services
  const sql = services.database.background
  let isStopping = false
  const begin = () => beginSlice(config, () => isStopping)
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
  workers.open<StepData>(recurringQueue, (job, token) => runStep(steps, begin, log, job, token), {
    ...options,
    concurrency: Object.keys(steps).length,
  })
  log.info({ concurrency: config.jobConcurrency }, 'working')
  const recurring = openRecurring(jobs, steps)
  const stops = [
    repeatedly(openSweep(sql, jobs), config.sweepEveryMs, log),
    repeatedly(recurring.restore, config.sweepEveryMs, log),
    startWebhookDelivery(services),
    startTimedEvents(services),
    startReadyEvents(services),
    startSearchIndexing(services, changed),
  ]

  return async () => {
    isStopping = true
    const ends = [...stops.map((stop) => stop()), workers.close(), recurring.close()]
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

function recurringSteps({ config, database: { background: sql }, encryption }: Services): Steps {
  const findOrphans =
    (search: OrphanSearch): Steps[string] =>
    async (_, after = nilId) =>
      (await queueOrphanJobs(sql, search, after, searchRows)).last
  return {
    'look-for-left-streams': findOrphans(orphanStreams),
    'look-for-left-documents': findOrphans(orphanDocuments),
    'look-for-left-owners': findOrphans(orphanProjects),
    'look-for-left-members': findOrphans(orphanMembers),
    'reseal-secrets': (throttle, after) => reencryptSecrets(sql, encryption, throttle, after),
    'expire-deliveries': (throttle, after) => expireDeliveries(sql, throttle, after),
    'expire-keys': (throttle, after) => expireKeys(sql, config.idempotencyHours, throttle, after),
    'expire-api-tokens': (throttle) => expireApiTokens(sql, throttle),
    'expire-mail-tokens': (throttle) => expireMailTokens(sql, throttle),
    'expire-documents': (throttle) => expireDocuments(sql, throttle, deletedHours),
    'expire-imports': (throttle) => expireImports(sql, throttle),
    'end-lost-imports': (throttle) => endLostImports(sql, throttle),
    'expire-revoked-tokens': (throttle) => expireRevokedTokens(sql, throttle),
    ...(config.historyDays > 0 && {
      'expire-events': (throttle, after) => expireEvents(sql, config.historyDays, throttle, after),
    }),
  }
}
