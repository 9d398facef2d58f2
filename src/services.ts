import type { React } from './facts/facts.ts'
import type { Command } from './commands/command.ts'
import { openCompany } from './commands/company.ts'
import { openFindPerson } from './commands/people.ts'
import { openPerform } from './commands/perform.ts'
import { registryOf } from './commands/registry.ts'
import { openPlaces } from './commands/places.ts'
import { openNaming } from './undo/naming.ts'
import { openReadPast } from './undo/read-past.ts'
import { openRun, type Run } from './commands/run.ts'
import { Actors } from './actor/actors.ts'
import { openCommit, type Unit } from './commit/commit.ts'
import { openFindKept } from './commit/idempotency.ts'
import { Hints } from './followers/hints.ts'
import { type Followers, openFollowers } from './followers/followers.ts'
import { Leases } from './home/lease.ts'
import { openFindLanded } from './actor/landed.ts'
import { type Moments, openMoments } from './past/moments.ts'
import { openLoader } from './actor/load.ts'
import { openIdentity } from './identity/identity.ts'
import type { Authenticate } from './identity/sessions.ts'
import type { Config } from './config.ts'
import { type Database, openDatabase } from './postgres/database.ts'
import { type Guards, openGuards } from './http/guards.ts'
import { type Jobs, openJobs } from './jobs/queue.ts'
import { type Limits, openLimits } from './http/limits/limits.ts'
import type { Log } from './log.ts'
import { type Counts, openCounts } from './metrics/counts.ts'
import type { Passwords } from './identity/passwords.ts'
import { openRedis, openSubscriber } from './redis/connections.ts'
import { type OldestKept, openOldestKept } from './reads/kept.ts'
import { type FindRole, openFindRole } from './reads/role-lookup.ts'
import { openServe, type Serve } from './reads/cached-bodies.ts'
import { type Once, openOnce } from './http/once.ts'
import { openWrite, type Write } from './http/write.ts'
import { openOutbound, type Outbound } from './outbound/outbound.ts'
import type { Sealing } from './identity/sealed.ts'
import type { Tokens } from './identity/tokens.ts'
import { openVersions, type Versions } from './reads/versions.ts'

/** What a process stands on; modules take what they need from here. */
export interface Services {
  config: Config
  log: Log
  database: Database
  /** What it counts as it goes, for whoever measures it. */
  counts: Counts
  actors: Actors
  run: Run
  versions: Versions
  findRole: FindRole
  oldestKept: OldestKept
  serve: Serve
  moments: Moments
  followers: Followers
  /** Tells of projects that moved on, and of those whose webhooks were changed. */
  hints: Hints
  webhookHints: Hints
  outbound: Outbound
  write: Write
  once: Once
  guards: Guards
  limits: Limits
  authenticate: Authenticate
  tokens: Tokens
  sealing: Sealing
  passwords: Passwords
  jobs: Jobs
  redisStatus(): string
  /** From now on the process says that it is not ready, and serves on until it is closed. */
  drain(): void
  isDraining(): boolean
  /** Joins the processes that write together; `asHome`, projects may be at home here. */
  join(asHome: boolean): Promise<void>
  /** Drains the actors, then closes every connection; bounded in time. */
  close(): Promise<void>
}

/** What the service is about: what may be done, and what work a committed fact asks for. */
export interface Domain {
  commands: Command<never>[]
  react: React
}

/** Opens everything; nothing here needs Redis to be up. */
export function openServices(config: Config, log: Log, domain: Domain): Services {
  const ground = openGround(config, log)
  const { counts, database, findKept, followers, hints, webhookHints, jobs, oldestKept, redis, versions } =
    ground
  const { caches, readWaits } = counts
  const writing = openWriting(ground, domain, log)
  const { tokenUse, ...identity } = openIdentity(config, database, counts, log)
  const { authenticate, passwords } = identity
  const limits = openLimits(redis, config)
  let draining = false
  return {
    ...{ config, log, database, counts, versions, followers, hints, webhookHints, limits, jobs },
    ...identity,
    outbound: openOutbound(config),
    ...writing,
    findRole: openFindRole(database.reads, versions, caches.roles, readWaits.roles),
    oldestKept,
    moments: openMoments(database.reads, oldestKept, config),
    write: openWrite(findKept),
    once: openOnce(findKept, passwords, identity),
    guards: openGuards(authenticate, limits, config),
    serve: openServe(config.bodyCacheBytes, caches.bodies),
    redisStatus: () => redis.status,
    drain: () => void (draining = true),
    isDraining: () => draining,
    async close() {
      followers.end()
      await writing.close()
      await tokenUse.close()
      await ground.close()
    },
  }
}

type Ground = ReturnType<typeof openGround>

/** What reads and writes both stand on. */
function openGround(config: Config, log: Log) {
  const counts = openCounts()
  const database = openDatabase(config, counts.queries)
  const redis = openRedis(config.redisUrl, log)
  const subscriber = openSubscriber(config.redisUrl, log)
  const jobs = openJobs(config, log)
  const hints = new Hints(redis, subscriber, `${config.redisPrefix}:versions`)
  const webhookHints = new Hints(redis, subscriber, `${config.redisPrefix}:webhooks`)
  return {
    ...{ config, counts, database, redis, subscriber, hints, webhookHints, jobs },
    followers: openFollowers(database.reads, hints, config, log),
    findKept: openFindKept(database.reads),
    versions: openVersions(database.reads, counts.readWaits.versions),
    findPerson: openFindPerson(database.reads),
    oldestKept: openOldestKept(database.reads),
    async close() {
      await jobs.close()
      redis.disconnect()
      subscriber.disconnect()
      await database.close()
    },
  }
}

/** The way of every write: to its project's home, and there through its actor. */
function openWriting(ground: Ground, domain: Domain, log: Log) {
  const { config, counts, database, redis } = ground
  const actors = openActors(ground, domain.react)
  const registry = registryOf(domain.commands)
  const perform = openNaming(database.reads, openPerform(actors, config))
  const isClosing = () => actors.isClosing
  const company = openCompany({ config, redis, registry, perform, isClosing, log, counts: counts.orders })
  return {
    actors,
    run: openRun({
      registry,
      places: openPlaces(database.reads, counts.caches.places),
      findPerson: ground.findPerson,
      deliver: company.deliver,
      timeoutMs: config.writeTimeoutMs,
    }),
    join: (asHome: boolean) => company.join(asHome),
    async close() {
      await company.leave(config.drainTimeoutMs / 4)
      await actors.close(config.drainTimeoutMs / 2)
      await company.close()
    },
  }
}

function openActors(
  { config, counts, database, redis, subscriber, hints, jobs, ...ground }: Ground,
  react: React,
): Actors {
  const { commitSlots: slots, commitEvents: events, commitShapes: shapes, writeTimeoutMs: timeoutMs } = config
  const commit = openCommit(database.commits, { slots, events, shapes, timeoutMs }, counts.commits)
  const by = {
    loader: openLoader(database.reads),
    findLanded: openFindLanded(database.reads),
    versions: ground.versions,
    commit,
    findKept: ground.findKept,
    readPast: openReadPast({ sql: database.reads, ...ground }),
    react,
    counts: counts.caches.states,
    onCommitted(unit: Unit) {
      hints.tell(unit.heads)
      if (unit.jobs.length > 0) jobs.handOver(unit.jobs)
    },
  }
  return new Actors(by, new Leases(redis, subscriber, config, counts.leases), config)
}
