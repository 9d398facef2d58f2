import { Expensive } from './admission/expensive.ts'
import { openSpend, type Spend } from './admission/spend.ts'
import type { Run } from './commands/run.ts'
import { Actors } from './actor/actors.ts'
import type { Recent } from './commit/recent.ts'
import { Hints } from './followers/hints.ts'
import type { Followers } from './followers/followers.ts'
import { type Moments, openMoments } from './log/moments.ts'
import type { Fingerprints } from './identity/fingerprints.ts'
import { openIdentity } from './identity/identity.ts'
import type { Authenticate } from './identity/sessions.ts'
import type { Config } from './config.ts'
import type { Database } from './postgres/database.ts'
import { type Guards, openGuards } from './http/guards.ts'
import type { Jobs } from './jobs/queue.ts'
import { type Limits, openLimits } from './http/limits/limits.ts'
import type { Log } from './log.ts'
import type { Counts } from './metrics/counts.ts'
import type { NewPasswords } from './identity/new-passwords.ts'
import type { Passwords } from './identity/passwords.ts'
import type { OldestKept } from './reads/kept.ts'
import { openSeeMany, type SeeMany } from './reads/visible.ts'
import type { FindRole } from './reads/role-lookup.ts'
import { openServe, type Serve } from './reads/cached-bodies.ts'
import type { Tracing } from './tracing/tracing.ts'
import { openWithIdempotency, type WithIdempotency } from './http/idempotency.ts'
import { openOutbound, type Outbound } from './outbound/outbound.ts'
import type { Sealing } from './identity/sealed.ts'
import type { MailTokens } from './identity/mail-tokens.ts'
import type { Tokens } from './identity/tokens.ts'
import type { Versions } from './reads/versions.ts'
import { openGround } from './ground.ts'
import { type Domain, openWriting } from './writing.ts'

/** What a process stands on; modules take what they need from here. */
export interface Services {
  config: Config
  log: Log
  database: Database
  /** What it counts as it goes, for whoever measures it. */
  counts: Counts
  tracing: Tracing | undefined
  actors: Actors
  run: Run
  versions: Versions
  findRole: FindRole
  oldestKept: OldestKept
  seeMany: SeeMany
  serve: Serve
  moments: Moments
  followers: Followers
  recent: Recent
  /** Tells of projects that moved on, and of those whose webhooks were changed. */
  hints: Hints
  webhookHints: Hints
  outbound: Outbound
  withIdempotency: WithIdempotency
  fingerprints: Fingerprints
  guards: Guards
  limits: Limits
  spend: Spend
  expensive: Expensive
  authenticate: Authenticate
  tokens: Tokens
  mailTokens: MailTokens
  sealing: Sealing
  passwords: Passwords
  newPasswords: NewPasswords
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

/** Opens everything; nothing here needs Redis to be up. */
export function openServices(config: Config, log: Log, domain: Domain, tracing?: Tracing): Services {
  const ground = openGround(config, log)
  const { counts, database, findKept, findRole, jobs, oldestKept, redis, scheduler, versions, ...heard } =
    ground
  const { followers, recent, hints, webhookHints } = heard
  const { caches } = counts
  const writing = openWriting(ground, domain, log, tracing)
  const { tokenUse, ...identity } = openIdentity(config, database, counts, log)
  const { authenticate } = identity
  const limits = openLimits(redis, config, log)
  const expensive = new Expensive(config.expensiveRequestsPerAccount)
  const spend = openSpend({ database, expensive, ...limits })
  let draining = false
  return {
    ...{ config, log, tracing, database, counts, versions, limits, jobs },
    ...{ followers, recent, hints, webhookHints },
    ...identity,
    outbound: openOutbound(config),
    ...writing,
    ...{ findRole, oldestKept },
    seeMany: openSeeMany(database.reads),
    moments: openMoments(database.reads, oldestKept, spend, config),
    spend,
    expensive,
    withIdempotency: openWithIdempotency(findKept),
    guards: openGuards(authenticate, limits, scheduler, config),
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
