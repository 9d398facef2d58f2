import { createHash } from 'node:crypto'
import { RateLimiterRes } from 'rate-limiter-flexible'
import { FairQueue } from '../admission/fair-queue.ts'
import type { Config } from '../config.ts'
import type { Log } from '../logger.ts'
import type { RedisClient } from '../redis/connections.ts'
import { badRequest } from '../responses/errors.ts'
import {
  Budget,
  CallerBudget,
  openLimiter,
  type OpenLimiter,
  passwordDelayed,
  rateLimited,
} from './budget.ts'

/** All API tokens of an account share one budget, four times as large as the budget of one token. */
const tokensPerAccount = 4

export type Limits = ReturnType<typeof openLimits>
export type BudgetName = 'reads' | 'writes'

/** The limit for mails applies even if rate limits are off, because it protects the owners of email addresses. */
export function openLimits(redis: RedisClient, config: Config, log: Log) {
  const { invitationsPerHour, mailsPerHour, rateLimit, signInsPerMinute } = config
  const limiterOf: OpenLimiter = (policy) => openLimiter(redis, config.redisPrefix, policy)
  const perMinute = (name: string, points: number) => {
    const policy = { name, points, seconds: 60 }
    return new Budget(limiterOf(policy), policy)
  }
  const callerBudget = (name: BudgetName, points: number) =>
    new CallerBudget(perMinute(name, points), perMinute(`account-${name}`, tokensPerAccount * points))
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

/** How long an address is exempt from the account's delays after a sign-in. */
const exemptSeconds = 30 * 86_400

const hashedKey = (text: string): string => createHash('sha256').update(text).digest('base64url')

/**
 * Too many wrong passwords from an address block its sign-ins to the account. Wrong passwords from all addresses
 * together only delay sign-ins of addresses that have not signed in before, so nobody can lock the owner out.
 * @throws HttpError 429
 */
function openPasswordChecks(limiterOf: OpenLimiter, config: Config) {
  const { signInFailures: points, signInFailureMinutes } = config
  const policy = { name: 'sign-in-failures', points, seconds: signInFailureMinutes * 60 }
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
      const other = await delays.consume(account, 1, { customDuration }).then(() => null, asDelay)
      if (!other || isExempt) return
      await wrong.reward(account, 1)
      throw passwordDelayed(other.msBeforeNext)
    },

    /** Call this if the password was not wrong: the attempt then no longer counts, and its delay is removed. */
    end: (account: string) => Promise.all([wrong.reward(account, 1), delays.delete(account)]),
  }
}

function asDelay(reason: unknown): RateLimiterRes {
  if (reason instanceof RateLimiterRes) return reason
  throw reason
}
