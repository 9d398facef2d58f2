import { Scheduler } from './admission/fair-queue.ts'
import type { Reactions } from './model/events.ts'
import type { Command } from './commands/command.ts'
import { openExecute } from './commands/execute.ts'
import { openFindPerson } from './reads/people.ts'
import { registryOf, openRouter, openRun } from './commands/router.ts'
import { openRowLocations } from './commands/row-locations.ts'
import { openAddConflictingSeqs, openReadUndoInput } from './log/undo-input.ts'
import { Actors } from './actor/actors.ts'
import { openCommit } from './commit/commit.ts'
import type { CommitUnit } from './commit/unit.ts'
import { openFindRecord } from './commit/idempotency.ts'
import { changedProjects, RecentCommits } from './commit/recent-commits.ts'
import type { Config } from './config.ts'
import { Notifications } from './subscriptions/notifications.ts'
import { openSubscriptions } from './subscriptions/subscriptions.ts'
import { Leases } from './lock/leases.ts'
import { openFindCommitted } from './actor/transact.ts'
import { openLoader } from './actor/load.ts'
import type { Entity } from './model/entities.ts'
import { model } from './model/model.ts'
import { openJobs, queuePrefix } from './jobs/queue.ts'
import type { Log } from './logger.ts'
import { type Counts, openCounts } from './metrics/counts.ts'
import { isPatched } from './postgres/pool.ts'
import { databaseTime, openDatabaseClock } from './postgres/clock.ts'
import { secretsIn } from './setting-values.ts'
import { type Database, openDatabase } from './postgres/database.ts'
import { openOldestSeq } from './reads/retention.ts'
import { openFindRole } from './reads/lookups.ts'
import { openStandbys, type Place } from './reads/standbys.ts'
import { KnownCommits, nextCommit, openVersions } from './reads/versions.ts'
import { disconnect, openRedis, openSubscriber, warnOfServerSettings } from './redis/connections.ts'
import type { Tracing } from './tracing/tracing.ts'
import { Expensive, openCharge } from './admission/expensive.ts'
import { openSnapshots } from './log/as-of.ts'
import { openNewPasswords, openPasswords } from './identity/passwords.ts'
import { openEncryption, openFingerprints, openMailTokens } from './identity/secrets.ts'
import { Authenticate } from './identity/sessions.ts'
import { openTokens } from './identity/tokens.ts'
import { openLimits } from './http/limits.ts'
import { openBodyCache } from './responses/reply.ts'
import { openWithIdempotency } from './http/idempotency.ts'
import { openOutbound } from './outbound/post.ts'

export type Services = ReturnType<typeof openServices>

/** Opens all services of a process, even if Redis is unreachable. */
export function openServices(config: Config, log: Log, domain: Domain, tracing?: Tracing) {
  const writePath = openWritePath(config, log, domain)
  const { counts, database, findRecord, subscriptions, oldestSeq, redis, scheduler } = writePath
  const identity = openIdentity(config, database, counts)
  const limits = openLimits(redis, config, log)
  const expensive = new Expensive(scheduler)
  const standbys = openStandbys(config, database, log)
  const place: Place = standbys?.place ?? ((sql) => sql)
  const charge = openCharge(database, expensive, limits.budgets?.reads)
  let draining = false
  return {
    ...writePath,
    ...identity,
    ...{ tracing, limits, expensive, charge, standbys, place },
    outbound: openOutbound(config),
    snapshots: openSnapshots(database.reads, oldestSeq, charge, config.asOfEvents, place),
    withIdempotency: openWithIdempotency(findRecord),
    serve: openBodyCache(config.bodyCacheBytes, counts.caches.bodies),
    redisStatus: (): string => redis.status,
    drain: () => void (draining = true),
    isDraining: () => draining,
    async close() {
      subscriptions.end()
      await standbys?.close()
      await writePath.close()
    },
  }
}

function openIdentity(config: Config, database: Database, counts: Counts) {
  const secrets = secretsIn(config.jwtSecret)
  const tokens = openTokens(secrets, config.jwtExpirationSeconds, () => databaseTime(database.background))
  const passwords = openPasswords()
  return {
    ...{ tokens, passwords, newPasswords: openNewPasswords(config) },
    authenticate: new Authenticate(database, tokens, counts),
    mailTokens: openMailTokens(secrets),
    encryption: openEncryption(secrets),
    fingerprints: openFingerprints(secrets, passwords),
  }
}

type Domain = { commands: Command<never>[]; react: Reactions }

export function openWritePath(config: Config, log: Log, domain: Domain) {
  const shared = openSharedServices(config, log)
  const { clock, counts, database, redis, jobs, rowLocations, scheduler, findPerson, findRole } = shared
  const { notifications, knownCommits } = shared
  const actors = openActors(shared, domain.react)
  const registry = registryOf(domain.commands)
  const explain = openAddConflictingSeqs(database.reads)
  const reads = { findRole, findPerson, rowLocations }
  const execute = openExecute({ actors, ...reads, limits: config, explain, log })
  const isClosing = () => actors.isClosing
  const routed = { config, redis, registry, execute, scheduler, isClosing, log }
  const router = openRouter({ ...routed, counts: counts.forwards })
  const located = { registry, rowLocations, timeoutMs: config.writeTimeoutMs }
  return {
    ...shared,
    actors,
    run: openRun({ ...located, route: router.route }),
    /**
     * Runs a command in this process: for bulk work of workers, which would delay other requests in the home process.
     */
    runHere: openRun({ ...located, route: execute }),
    isHome: router.isHome,
    homeProblem: router.problem,
    /** Joins the processes that share the writes. With `asHome` this process may be the home of projects. */
    async join(asHome: boolean) {
      await clock.known
      if (asHome) notifications.listen(({ next }, isOwn) => void (next && !isOwn && knownCommits.add(next)))
      await router.join(asHome)
    },
    /** Drains the actors, then closes every connection, in a bounded time. */
    async close() {
      await router.leave(config.drainTimeoutMs / 4)
      await actors.close(config.drainTimeoutMs / 2)
      await router.close()
      await clock.close()
      await jobs.close()
      disconnect(redis)
      disconnect(shared.subscriber)
      await database.close()
    },
  }
}

function openSharedServices(config: Config, log: Log) {
  const counts = openCounts()
  const database = openDatabase(config, counts.queries)
  const redis = openRedis(config, log)
  if (!isPatched(database.background))
    log.warn('postgres.js is installed without its corrections: run "npm run setup", and not "npm install"')
  warnOfServerSettings(redis, config.redisUrl, [config.redisPrefix, queuePrefix(config)], log)
  const subscriber = openSubscriber(config.redisUrl, log)
  const notifications = new Notifications(redis, subscriber, `${config.redisPrefix}:versions-2`)
  const knownCommits = new KnownCommits()
  const versions = openVersions(database.reads, knownCommits, counts.readWaits)
  const subscriptions = openSubscriptions(database.reads, notifications, config, log)
  return {
    ...{ config, log, counts, database, redis, subscriber },
    ...{ notifications, versions, subscriptions, knownCommits },
    clock: openDatabaseClock(database.background, log),
    jobs: openJobs(config, log),
    scheduler: new Scheduler(),
    recent: new RecentCommits((projectId) => subscriptions.countOf(projectId) > 0),
    findRecord: openFindRecord(database.reads),
    findPerson: openFindPerson(database.reads, config.smtpUrl !== ''),
    findRole: openFindRole(database.reads, versions, counts.caches.roles),
    oldestSeq: openOldestSeq(database.reads),
    rowLocations: openRowLocations(database.reads, counts.caches.places),
  }
}

const isTarget = (entity: string, isDeletedOrRestored: boolean) =>
  (isDeletedOrRestored ? model().targets : model().keyed).has(entity as Entity)

function openActors(shared: ReturnType<typeof openSharedServices>, react: Reactions): Actors {
  const { config, counts, database, redis, subscriber, notifications, recent, knownCommits, jobs } = shared
  const dependencies = {
    loader: openLoader(database.reads, shared.findPerson),
    findCommitted: openFindCommitted(database.reads),
    versions: shared.versions,
    commit: openCommit(database, config, counts.commits),
    findRecord: shared.findRecord,
    readUndoInput: openReadUndoInput(database.reads, shared.oldestSeq, shared.findPerson),
    react,
    counts: counts.caches.states,
    onCommitted(unit: CommitUnit) {
      shared.rowLocations.add(unit.events)
      recent.add(unit)
      const next = nextCommit(unit, isTarget)
      if (next) knownCommits.add(next)
      notifications.publish(changedProjects(unit, next))
      if (unit.jobs.length > 0) jobs.enqueue(unit.jobs)
    },
  }
  return new Actors(dependencies, new Leases(redis, subscriber, config, counts.leases), config)
}
