import { isId, nilId } from '../src/ids.ts'
import type { Job } from 'bullmq'
import { mailQueueName, queueName, queuePrefix } from '../src/jobs/queue.ts'
import { disconnect, openBlocking } from '../src/redis/connections.ts'
import type { Services } from '../src/services.ts'
import { purgeProject, purgeTask, unassignMember } from './cascade.ts'
import { expireApiTokens, expireKeys, expireMailTokens, expireRevokedTokens } from './cleanup.ts'
import { closeAccount } from './close-account.ts'
import { expireEvents } from './expire-events.ts'
import { orphanMembers, orphanProjects, orphanStreams, queueOrphanJobs, type OrphanSearch } from './orphans.ts'
import { openWorkers } from './open-workers.ts'
import { beginSlice } from './throttle.ts'
import type { JobName } from './reactions.ts'
import { within } from '../src/within.ts'
import { openRecurring, type StepData, recurringQueue, runStep, type Steps } from './recurring.ts'
import { openSweep } from './sweep.ts'
import { runJob, type JobHandlers } from './run-job.ts'
import { repeatedly } from '../src/repeatedly.ts'
import { openSendMail } from './mail/send-mail.ts'
import { startWebhookDelivery } from './webhooks/start.ts'
import { expireDeliveries, reencryptSecrets } from './webhooks/maintenance.ts'

const searchRows = 5_000

/** Starts the worker side of a process. Returns how to stop it: jobs in progress are finished or given back. */
export function startWorkers(services: Services): () => Promise<void> {
  const { config, log, jobs } = services
  const sql = services.database.background
  let isStopping = false
  const begin = () => beginSlice(config, () => isStopping)

  const connection = openBlocking(config.redisUrl, log)
  const bench = { sql, log, work: jobHandlers(services), beginSlice: begin, attempts: config.jobAttempts }
  const steps = recurringSteps(services)
  const options = { ...workerOptions, prefix: queuePrefix(config) }
  const workers = openWorkers(connection, log)
  const perform = async (job: Job, token?: string) => {
    const { id = '', name } = job
    if (isId(id)) return runJob(bench, job, id, token)
    await jobs.queue.removeJobScheduler(name) // of an earlier release, which kept schedules in this queue
  }
  for (const name of [queueName, mailQueueName])
    workers.open(name, perform, { ...options, concurrency: config.jobConcurrency })
  workers.open<StepData>(recurringQueue, (job, token) => runStep(steps, begin, log, job, token), {
    ...options,
    concurrency: Object.keys(steps).length,
  })
  log.info({ concurrency: config.jobConcurrency }, 'working')
  const recurring = openRecurring(jobs, steps)
  const stops = [
    repeatedly(openSweep(sql, jobs), config.sweepEveryMs, log),
    repeatedly(recurring.keep, config.sweepEveryMs, log),
    startWebhookDelivery(services),
  ]

  return async () => {
    isStopping = true
    const ends = [...stops.map((stop) => stop()), workers.close(), recurring.close()]
    await within(config.drainTimeoutMs, Promise.allSettled(ends))
    disconnect(connection)
  }
}

const workerOptions = {
  lockDuration: 10_000,
  stalledInterval: 5_000,
  maxStalledCount: 1_000, // the outbox counts every try, also those whose worker died
  runRetryDelay: 1_000, // after Redis was away
  skipVersionCheck: true,
}

const jobHandlers = (services: Services): Record<JobName, JobHandlers[string]> => {
  const { run } = services
  const sql = services.database.background
  return {
    'purge-project': ({ projectId = '' }, pace) => purgeProject(sql, projectId, pace),
    'purge-task': (data, pace) => purgeTask(sql, data, pace),
    'unassign-member': ({ projectId = '', userId = '' }, pace) =>
      unassignMember(sql, run, { projectId, userId }, pace),
    'close-account': ({ userId = '' }, pace) => closeAccount(sql, run, userId, pace),
    'send-mail': openSendMail(services),
  }
}

function recurringSteps({ config, database: { background: sql }, sealing }: Services): Steps {
  const look =
    (search: OrphanSearch): Steps[string] =>
    async (_, after = nilId) =>
      (await queueOrphanJobs(sql, search, after, searchRows)).last
  return {
    'look-for-left-streams': look(orphanStreams),
    'look-for-left-owners': look(orphanProjects),
    'look-for-left-members': look(orphanMembers),
    'reseal-secrets': (pace, after) => reencryptSecrets(sql, sealing, pace, after),
    'expire-deliveries': (pace, after) => expireDeliveries(sql, pace, after),
    'expire-keys': (pace) => expireKeys(sql, pace, config.idempotencyHours),
    'expire-api-tokens': (pace) => expireApiTokens(sql, pace),
    'expire-mail-tokens': (pace) => expireMailTokens(sql, pace),
    'expire-revoked-tokens': (pace) => expireRevokedTokens(sql, pace),
    ...(config.historyDays > 0 && {
      'expire-events': (pace, after) => expireEvents(sql, config.historyDays, pace, after),
    }),
  }
}
