import { createHash } from 'node:crypto'
import { RateLimiterRes } from 'rate-limiter-flexible'
import { FairQueue } from '../../admission/fair-queue.ts'
import type { Config } from '../../config.ts'
import type { Log } from '../../logger.ts'
import { type OpenLimiter, passwordDelayed, rateLimited } from './budget.ts'

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

/** Runs a check of a password and returns its result. @throws HttpError 429 after too many wrong passwords */
type CheckPassword = (attempt: SignInAttempt, isRight: Check) => Promise<boolean>

/** How long an address is exempt from the account's delays after a sign-in. */
const exemptSeconds = 30 * 86_400

export const hashedKey = (text: string): string => createHash('sha256').update(text).digest('base64url')

/**
 * Too many wrong passwords from an address block its sign-ins to the account. Wrong passwords from all addresses
 * together only delay sign-ins of addresses that have not signed in before, so nobody can lock the owner out.
 */
export function openPasswordChecks(limiterOf: OpenLimiter, config: Config): CheckPassword {
  const { signInFailures: points, signInFailureMinutes } = config
  const policy = { name: 'sign-in-failures', points, seconds: signInFailureMinutes * 60 }
  const failures = limiterOf(policy)
  const signedIn = limiterOf({ name: 'signed-in', points: 1, seconds: exemptSeconds })
  const delays = openDelays(limiterOf, points)
  const inTurn = new FairQueue(oneAtATime)
  return ({ address, email }, isRight) => {
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

/** The delays after successive wrong passwords, when the free attempts are used up. The last delay repeats. */
export const delaySeconds = [1, 2, 4, 8, 16, 32, 60]
/** Wrong passwords of an account are counted in periods of this length. */
const countedSeconds = 86_400

/** An attempt counts as wrong when it begins, so an attacker cannot check more passwords by concurrent attempts. */
function openDelays(limiterOf: OpenLimiter, free: number) {
  const wrong = limiterOf({ name: 'account-failures', points: free, seconds: countedSeconds })
  const delays = limiterOf({ name: 'password-delays', points: 1, seconds: delaySeconds.at(-1)! })
  return {
    /** @throws HttpError 429 during a delay, unless the address is exempt. */
    async begin(account: string, isExempt: boolean): Promise<void> {
      const delay = isExempt ? null : await delays.get(account)
      if (delay) throw passwordDelayed(delay.msBeforeNext)
      const { consumedPoints } = await wrong.penalty(account, 1)
      if (consumedPoints <= free) return
      const customDuration = delaySeconds[consumedPoints - free - 1] ?? delaySeconds.at(-1)!
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

/** Logs wrong passwords with the account id, not the email, because a user may type a password into the email field. */
export const withFailureLog =
  (log: Log, check: CheckPassword | false): CheckPassword =>
  async (attempt, isRight) => {
    const isGood = await (check ? check(attempt, isRight) : isRight())
    const { address, accountId = null } = attempt
    if (!isGood) log.warn({ address, accountId }, 'sign-in failed: wrong password')
    return isGood
  }
