import { LRUCache } from 'lru-cache'
import { type Caller, holderOf } from '../../identity/rights.ts'
import type { Counter, Policy } from './counter.ts'
import { HttpError } from '../../responses/errors.ts'

/** The part of a key's budget that this process may use without a request to Redis. */
export class Share {
  left = 0
  /** The rest of the budget of all processes, as of this process's last request to Redis. */
  remaining = 1
  endsAt = 0
  waiting = 0
  refill: Promise<void> | null = null
  header = ''
  headerUntil = 0

  constructor(readonly budget: Budget) {}
}

const maxKeys = 50_000

/** Each process takes chunks of the shared budget from Redis, so `RateLimit` may be wrong by one chunk per process. */
export class Budget {
  private readonly shares = new LRUCache<string, Share>({ max: maxKeys })
  readonly chunk: number
  readonly policyHeader: string

  constructor(
    private readonly counter: Counter,
    readonly policy: Policy,
  ) {
    this.policyHeader = policyHeader(policy)
    this.chunk = Math.max(1, Math.floor(policy.points / 50))
  }

  /** Counts one request. Returns a promise if the share needs a refill from Redis. */
  take(key: string): Share | Promise<Share> {
    const share = this.shareOf(key)
    return this.tryTake(share) ? share : this.takeAfterRefill(key, share)
  }

  /** A request larger than the remaining budget runs and empties the budget. Otherwise it could never run. */
  async takeMore(key: string, count: number): Promise<void> {
    const share = this.shareOf(key)
    const fromShare = Math.min(share.left, count)
    share.left -= fromShare
    share.headerUntil = 0
    if (fromShare === count) return
    const points = await this.count(key, share, count - fromShare)
    // `take` has already counted this request as one.
    const before = points - (count - fromShare) - 1
    if (before >= this.policy.points) throw rateLimited(this.policy, share.endsAt - performance.now())
  }

  private async count(key: string, share: Share, count: number): Promise<number> {
    const { points, msToEnd } = await this.counter.add(key, count)
    share.remaining = Math.max(0, this.policy.points - points)
    share.endsAt = performance.now() + msToEnd
    return points
  }

  private shareOf(key: string): Share {
    let share = this.shares.get(key)
    if (!share) this.shares.set(key, (share = new Share(this)))
    return share
  }

  /** Returns false if the share needs a refill from Redis. */
  private tryTake(share: Share): boolean {
    const msToEnd = share.endsAt - performance.now()
    if (msToEnd <= 0) return false
    if (share.left > 0) return share.left-- > 0
    if (share.remaining === 0) throw rateLimited(this.policy, msToEnd)
    return false
  }

  private async takeAfterRefill(key: string, share: Share): Promise<Share> {
    share.waiting++
    try {
      do await (share.refill ??= this.refill(key, share))
      while (!this.tryTake(share))
    } finally {
      share.waiting--
    }
    return share
  }

  private async refill(key: string, share: Share): Promise<void> {
    // Lets all requests of this tick increase `waiting`.
    await null
    const chunk = Math.max(this.chunk, share.waiting)
    try {
      const points = await this.count(key, share, chunk)
      share.left = Math.max(0, Math.min(chunk, chunk + this.policy.points - points))
    } finally {
      share.refill = null
    }
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
    const share = this.own.take(holderOf(caller))
    return caller.token ? this.takeBoth(caller.userId, share) : share
  }

  async takeMore(caller: Caller, count: number): Promise<void> {
    await this.own.takeMore(holderOf(caller), count)
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
