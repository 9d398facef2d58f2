import { LRUCache } from 'lru-cache'
import { RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible'
import { type Caller, tokenOrUserId } from '../identity/rights.ts'
import type { RedisClient } from '../redis/connections.ts'
import { HttpError } from '../responses/errors.ts'

/** A quota policy (draft-ietf-httpapi-ratelimit-headers): at most `points` within `seconds`. */
export interface Policy {
  name: string
  points: number
  seconds: number
}

const maxKeys = 50_000
/** The maximum delay of a timer (2^31 - 1 ms) in seconds. A timer with a longer delay fires at once. */
const maxTimerSeconds = 2_147_483

/** Counts in the memory of this process. The least recently used keys beyond 50,000 are deleted. */
export class BoundedMemory extends RateLimiterMemory {
  private readonly keys = new LRUCache<string, true>({
    max: maxKeys,
    dispose: (_, key, reason) => void (reason === 'evict' && this.delete(key)),
  })

  override penalty(...[key, ...more]: Parameters<RateLimiterMemory['penalty']>) {
    this.keys.set(String(key), true)
    return super.penalty(key, ...more)
  }

  override consume(...[key, ...more]: Parameters<RateLimiterMemory['consume']>) {
    this.keys.set(String(key), true)
    return super.consume(key, ...more)
  }
}

export type OpenLimiter = (policy: Policy) => RateLimiterRedis

/** Opens a count in Redis that all processes share. While Redis is unreachable, each process counts on its own. */
export const openLimiter = (redis: RedisClient, prefix: string, { name, points, seconds }: Policy) =>
  new RateLimiterRedis({
    ...{ points, duration: seconds, keyPrefix: `${prefix}:limit:${name}` },
    ...{ storeClient: redis, rejectIfRedisNotReady: true },
    insuranceLimiter: new BoundedMemory({ points, duration: Math.min(seconds, maxTimerSeconds) }),
  })

/** The part of a key's budget that this process may use without a request to Redis. */
export class Share {
  left = 0
  /** The rest of the budget of all processes, as of this process's last request to Redis. */
  remaining = 1
  endsAt = 0
  refill: Promise<void> | undefined
  header = ''
  headerUntil = 0

  constructor(readonly budget: Budget) {}
}

/** Each process takes chunks of the shared budget from Redis, so `RateLimit` may be wrong by one chunk per process. */
export class Budget {
  private readonly shares = new LRUCache<string, Share>({ max: maxKeys })
  readonly chunk: number
  readonly policyHeader: string

  constructor(
    private readonly limiter: Pick<RateLimiterRedis, 'penalty'>,
    readonly policy: Policy,
  ) {
    this.policyHeader = policyHeader(policy)
    this.chunk = Math.max(1, Math.floor(policy.points / 50))
  }

  /** Counts one request. Returns a promise if the share needs a chunk from Redis. */
  take(key: string): Share | Promise<Share> {
    const share = this.shareOf(key)
    return this.tryTake(share) ? share : this.takeFromNextChunk(key, share)
  }

  /** A request larger than the remaining budget runs and empties the budget. Otherwise it could never run. */
  async takeMore(key: string, count: number): Promise<void> {
    const share = this.shareOf(key)
    const fromShare = Math.min(share.left, count)
    share.left -= fromShare
    share.headerUntil = 0
    const rest = count - fromShare
    // `take` has already counted this request as one.
    if (rest > 0 && (await this.count(key, share, rest)) - rest > this.policy.points)
      throw rateLimited(this.policy, share.endsAt - performance.now())
  }

  private shareOf(key: string): Share {
    let share = this.shares.get(key)
    if (!share) this.shares.set(key, (share = new Share(this)))
    return share
  }

  /** Returns false if the share needs a chunk from Redis. */
  private tryTake(share: Share): boolean {
    const msToEnd = share.endsAt - performance.now()
    if (msToEnd <= 0) return false
    if (share.left > 0) return share.left-- > 0
    if (share.remaining === 0) throw rateLimited(this.policy, msToEnd)
    return false
  }

  private async takeFromNextChunk(key: string, share: Share): Promise<Share> {
    do await (share.refill ??= this.refill(key, share).finally(() => (share.refill = undefined)))
    while (!this.tryTake(share))
    return share
  }

  private async refill(key: string, share: Share): Promise<void> {
    const excess = (await this.count(key, share, this.chunk)) - this.policy.points
    share.left = Math.max(0, this.chunk - Math.max(0, excess))
  }

  /** Returns the points of all processes, including these. */
  private async count(key: string, share: Share, points: number): Promise<number> {
    const { consumedPoints, msBeforeNext } = await this.limiter.penalty(key, points)
    share.remaining = Math.max(0, this.policy.points - consumedPoints)
    share.endsAt = performance.now() + msBeforeNext
    return consumedPoints
  }
}

/** The budgets of a caller: its own budget, and the budget of all API tokens of its account. */
export class CallerBudget {
  constructor(
    private readonly own: Budget,
    private readonly ofAccount: Budget,
  ) {}

  /** Returns the caller's own share, for the `RateLimit` header. */
  take(caller: Caller): Share | Promise<Share> {
    const share = this.own.take(tokenOrUserId(caller))
    return caller.token ? this.takeBoth(caller.userId, share) : share
  }

  async takeMore(caller: Caller, count: number): Promise<void> {
    await this.own.takeMore(tokenOrUserId(caller), count)
    if (caller.token) await this.ofAccount.takeMore(caller.userId, count)
  }

  /** A token whose own budget is empty takes nothing from the budget of its account. */
  private async takeBoth(accountId: string, own: Share | Promise<Share>): Promise<Share> {
    const share = await own
    await this.ofAccount.take(accountId)
    return share
  }
}

const policyHeader = ({ name, points, seconds }: Policy): string => `"${name}";q=${points};w=${seconds}`

/** How long a `RateLimit` header is reused. Building a header costs 0.6 µs. */
const headerMs = 100

export function setRateLimitHeaders(headers: Headers, share: Share): void {
  const { policy, policyHeader, chunk } = share.budget
  const now = performance.now()
  if (now >= share.headerUntil) {
    const seconds = Math.max(0, Math.ceil((share.endsAt - now) / 1000))
    share.header = `"${policy.name}";r=${share.left + share.remaining};t=${seconds}`
    share.headerUntil = chunk > 1 ? now + headerMs : 0
  }
  headers.set('ratelimit-policy', policyHeader)
  headers.set('ratelimit', share.header)
}

export function rateLimited(policy: Policy, msToEnd: number): HttpError {
  const error = tryAgainIn(msToEnd, 'Too many requests')
  const ratelimit = `"${policy.name}";r=0;t=${error.headers['retry-after']}`
  Object.assign(error.headers, { 'ratelimit-policy': policyHeader(policy), ratelimit })
  return error
}

export const passwordDelayed = (ms: number) => tryAgainIn(ms, 'Too many wrong passwords for this account')

function tryAgainIn(ms: number, reason: string): HttpError {
  const seconds = Math.max(1, Math.ceil(ms / 1000))
  const message = `${reason}; try again in ${seconds} second${seconds > 1 ? 's' : ''}`
  return new HttpError(429, message, { 'retry-after': String(seconds) })
}
