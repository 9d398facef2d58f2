import { Expensive } from './admission/expensive.ts'
import { Rejections } from './admission/rejections.ts'
import { openSpend } from './admission/spend.ts'
import { openMoments } from './log/moments.ts'
import { openIdentity } from './identity/identity.ts'
import type { Config } from './config.ts'
import { openGuards } from './http/guards.ts'
import { openLimits } from './http/limits/limits.ts'
import type { Log } from './log.ts'
import { openServe } from './reads/cached-bodies.ts'
import type { Tracing } from './tracing/tracing.ts'
import { openWithIdempotency } from './http/idempotency.ts'
import { openOutbound } from './outbound/post.ts'
import { type Domain, openWriting } from './writing.ts'

/** What a process stands on; modules take what they need from here. */
export type Services = ReturnType<typeof openServices>

/** Opens everything; nothing here needs Redis to be up. */
export function openServices(config: Config, log: Log, domain: Domain, tracing?: Tracing) {
  const writing = openWriting(config, log, domain, tracing)
  const { counts, database, findKept, followers, oldestKept, redis, scheduler } = writing
  const identity = openIdentity(config, database, counts)
  const limits = openLimits(redis, config, log)
  const expensive = new Expensive(config.expensiveRequestsPerAccount, scheduler)
  const spend = openSpend({ database, expensive, ...limits })
  let draining = false
  return {
    ...writing,
    ...identity,
    ...{ tracing, limits, expensive, spend },
    outbound: openOutbound(config),
    moments: openMoments(database.reads, oldestKept, spend, config),
    rejections: new Rejections(scheduler),
    withIdempotency: openWithIdempotency(findKept),
    guards: openGuards({ ...identity, limits, scheduler, config }),
    serve: openServe(config.bodyCacheBytes, counts.caches.bodies),
    redisStatus: (): string => redis.status,
    /** From now on the process says that it is not ready, and serves on until it is closed. */
    drain: () => void (draining = true),
    isDraining: () => draining,
    async close() {
      followers.end()
      await writing.close()
    },
  }
}
