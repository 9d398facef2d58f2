import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible'
import { FairQueue } from '../admission/fair-queue.ts'
import type { Config } from '../config.ts'
import { type Caller, tokenOrUserId } from '../identity/rights.ts'
import type { Log } from '../logger.ts'
import type { RedisClient } from '../redis/connections.ts'
import { badRequest, HttpError } from '../responses/errors.ts'
import { whenKnown } from '../waits.ts'

/** A quota policy (draft-ietf-httpapi-ratelimit-headers): at most `points` within `seconds`. */
interface Policy {
  name: string
  points: number
  seconds: number
}

const maxKeys = 50_000

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
}

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

  /** Counts one request. Returns a promise if the share needs a chunk from Redis. @throws HttpError 429 */
  take(key: string, share = this.shareOf(key)): Share | Promise<Share> {
    const msToEnd = share.endsAt - performance.now()
    if (msToEnd > 0 && share.left > 0) {
      share.left--
      return share
    }
    if (msToEnd > 0 && share.remaining === 0) throw rateLimited(this.policy, msToEnd)
    share.refill ??= this.refill(key, share).finally(() => (share.refill = undefined))
    return share.refill.then(() => this.take(key, share))
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
const openCallerBudget = (own: Budget, ofAccount: Budget) => ({
  /** Returns the caller's own share. A token whose own budget is empty takes nothing from the budget of its account. */
  take(caller: Caller): Share | Promise<Share> {
    const taken = own.take(tokenOrUserId(caller))
    if (!caller.token) return taken
    return whenKnown(taken, (share) => whenKnown(ofAccount.take(caller.userId), () => share))
  },

  async takeMore(caller: Caller, count: number): Promise<void> {
    await own.takeMore(tokenOrUserId(caller), count)
    if (caller.token) await ofAccount.takeMore(caller.userId, count)
  },
})

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

const passwordDelayed = (ms: number) => tryAgainIn(ms, 'Too many wrong passwords for this account')

function tryAgainIn(ms: number, reason: string): HttpError {
  const seconds = Math.max(1, Math.ceil(ms / 1000))
  const message = `${reason}; try again in ${seconds} second${seconds > 1 ? 's' : ''}`
  return new HttpError(429, message, { 'retry-after': String(seconds) })
}

/** Opens a count in Redis that all processes share. While Redis is unreachable, each process counts on its own. */
type OpenLimiter = (policy: Policy) => RateLimiterRedis

/** All API tokens of an account share one budget, four times as large as the budget of one token. */
const tokensPerAccount = 4

export type Limits = ReturnType<typeof openLimits>
export type BudgetName = 'reads' | 'writes'

/** The limit for mails applies even if rate limits are off, because it protects the owners of email addresses. */
export function openLimits(redis: RedisClient, config: Config, log: Log) {
  const { invitationsPerHour, mailsPerHour, rateLimit, signInsPerMinute } = config
  const limiterOf: OpenLimiter = ({ name, points, seconds }) =>
    new RateLimiterRedis({
      ...{ points, duration: seconds, keyPrefix: `${config.redisPrefix}:limit:${name}` },
      ...{ storeClient: redis, rejectIfRedisNotReady: true },
      insuranceLimiter: new BoundedMemory({ points, duration: seconds }),
    })
  const perMinute = (name: string, points: number) => {
    const policy = { name, points, seconds: 60 }
    return new Budget(limiterOf(policy), policy)
  }
  const callerBudget = (name: BudgetName, points: number) =>
    openCallerBudget(perMinute(name, points), perMinute(`account-${name}`, tokensPerAccount * points))
  const reads = callerBudget('reads', config.readsPerMinute)
  const writes = callerBudget('writes', config.writesPerMinute)
  const signIns = perMinute('sign-ins', signInsPerMinute)
  const checkInTurn = rateLimit && openPasswordChecks(limiterOf, config)
  const useInvitations = openHourly(limiterOf, 'invitations', invitationsPerHour)
  const useMail = openHourly(limiterOf, 'mails', mailsPerHour)
  return {
    budgets: rateLimit ? { reads, writes } : undefined,
    takeSignIn: (address: string) => (rateLimit ? signIns.take(address) : null),
    /** Logs the account id, not the email, because a user may type a password into the email field. */
    async checkPassword(attempt: SignInAttempt, isRight: Check): Promise<boolean> {
      const isGood = await (checkInTurn ? checkInTurn(attempt, isRight) : isRight())
      const { address, accountId = null } = attempt
      if (!isGood) log.warn({ address, accountId }, 'sign-in failed: wrong password')
      return isGood
    },
    /** Rejected invitations count too, because the error reveals whether an email address has an account. */
    async takeInvitations(userId: string, invitations: number): Promise<void> {
      if (!rateLimit) return
      if (invitations > invitationsPerHour)
        throw badRequest(`operations must contain at most ${invitationsPerHour} invitations`)
      await useInvitations(userId, invitations)
    },
    takeMail: (email: string) => useMail(hashedKey(email), 1),
  }
}

/** Returns a function that counts uses of a key. The function throws HttpError 429 above `points` an hour. */
function openHourly(limiterOf: OpenLimiter, name: string, points: number) {
  const policy = { name, points, seconds: 3_600 }
  const limiter = limiterOf(policy)
  return async (key: string, count: number): Promise<void> => {
    const { consumedPoints, msBeforeNext } = await limiter.penalty(key, count)
    if (consumedPoints > points) throw rateLimited(policy, msBeforeNext)
  }
}

interface SignInAttempt {
  address: string
  email: string
  /** Undefined if the account does not exist, or is not loaded. */
  accountId?: string
}

type Check = () => Promise<boolean>

/** The checks of an address for an account run one after another, so that all of them count. */
const oneAtATime = {
  ...{ what: 'sign-ins', whose: 'from this address to this account' },
  ...{ slots: Infinity, slotsOfKey: 1, waitingOfKey: 50 },
}

/** How long an address is exempt from the account's delays after a sign-in. A timer can wait for 24 days. */
const exemptSeconds = 20 * 86_400

const hashedKey = (text: string): string => createHash('sha256').update(text).digest('base64url')

/**
 * Too many wrong passwords from an address block its sign-ins to the account. Wrong passwords from all addresses
 * together only delay sign-ins of addresses that have not signed in before, so nobody can lock the owner out.
 * @throws HttpError 429
 */
function openPasswordChecks(limiterOf: OpenLimiter, config: Config) {
  const { signInFailures: points } = config
  const policy = { name: 'sign-in-failures', points, seconds: 900 }
  const failures = limiterOf(policy)
  const signedIn = limiterOf({ name: 'signed-in', points: 1, seconds: exemptSeconds })
  const delays = openDelays(limiterOf, points)
  const inTurn = new FairQueue(oneAtATime)
  return ({ address, email }: SignInAttempt, isRight: Check): Promise<boolean> => {
    const [pair, account] = [hashedKey(`${address}\n${email}`), hashedKey(email)]
    return inTurn.run(pair, async () => {
      const [failed, exempt] = await Promise.all([failures.get(pair), signedIn.get(pair)])
      if (failed && failed.consumedPoints >= points) throw rateLimited(policy, failed.msBeforeNext)
      await delays.begin(account, exempt !== null)
      let isGood: boolean | undefined
      try {
        isGood = await isRight()
      } finally {
        if (isGood !== false) await delays.end(account)
      }
      await (isGood ? signedIn : failures).penalty(pair, 1)
      return isGood
    })
  }
}

/** When the free attempts are used up, a wrong password delays the next attempt by 1 s, 2 s, 4 s …, up to this time. */
const maxDelaySeconds = 60
/** Wrong passwords of an account are counted in periods of this length. */
const countedSeconds = 86_400

/** An attempt counts as wrong when it begins, so an attacker cannot check more passwords by concurrent attempts. */
function openDelays(limiterOf: OpenLimiter, free: number) {
  const wrong = limiterOf({ name: 'account-failures', points: free, seconds: countedSeconds })
  const delays = limiterOf({ name: 'password-delays', points: 1, seconds: maxDelaySeconds })
  return {
    /** @throws HttpError 429 during a delay, unless the address is exempt. */
    async begin(account: string, isExempt: boolean): Promise<void> {
      const delay = isExempt ? null : await delays.get(account)
      if (delay) throw passwordDelayed(delay.msBeforeNext)
      const { consumedPoints } = await wrong.penalty(account, 1)
      if (consumedPoints <= free) return
      const customDuration = Math.min(maxDelaySeconds, 2 ** (consumedPoints - free - 1))
      // Of several concurrent attempts, only the first begins. It starts the delay that rejects the other attempts.
      const started = await delays.penalty(account, 1, { customDuration })
      if (started.consumedPoints === 1 || isExempt) return
      await wrong.reward(account, 1)
      throw passwordDelayed(started.msBeforeNext)
    },

    /** Call this if the password was not wrong: the attempt then no longer counts, and its delay is removed. */
    end: (account: string) => Promise.all([wrong.reward(account, 1), delays.delete(account)]),
  }
}
