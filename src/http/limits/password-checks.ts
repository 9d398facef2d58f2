import type { Config } from '../../config.ts'
import type { Log } from '../../logger.ts'
import type { RedisClient } from '../../redis/connections.ts'
import { unavailable } from '../../responses/errors.ts'
import { passwordDelayed, rateLimited } from './budget.ts'
import { hashedKey, type OpenCounter } from './counter.ts'
import { openDelays } from './delays.ts'

interface SignInAttempt {
  address: string
  email: string
  /** Undefined if the account does not exist, or is not loaded. */
  accountId?: string
}

type Check = () => Promise<boolean>

/** Runs a check of a password and returns its result. @throws HttpError 429 after too many wrong passwords */
export type CheckPassword = (attempt: SignInAttempt, isRight: Check) => Promise<boolean>

/** How long an address is exempt from the account's delays after a sign-in. */
const exemptSeconds = 30 * 86_400

/**
 * Too many wrong passwords from an address block its sign-ins to the account. Wrong passwords from all addresses
 * together only delay sign-ins of addresses that have not signed in before, so nobody can lock the owner out.
 */
export function openPasswordChecks(
  counterOf: OpenCounter,
  redis: RedisClient,
  config: Config,
): CheckPassword {
  const { redisPrefix, signInFailures: points, signInFailureMinutes } = config
  const policy = { name: 'sign-in-failures', points, seconds: signInFailureMinutes * 60 }
  const delays = openDelays(redis, redisPrefix, { free: points, windowMs: policy.seconds * 1000 })
  const failures = counterOf(policy)
  const signedIn = counterOf({ name: 'signed-in', points: 1, seconds: exemptSeconds })
  const sequentially = openKeyedMutex()
  return ({ address, email }, isRight) => {
    const [pair, account] = [hashedKey(`${address}\n${email}`), hashedKey(email)]
    return sequentially(pair, async () => {
      const [failed, exempt] = await Promise.all([failures.read(pair), signedIn.read(pair)])
      if (failed.points >= policy.points) throw rateLimited(policy, failed.msToEnd)
      const waitMs = await delays.begin(account, exempt.points > 0)
      if (waitMs > 0) throw passwordDelayed(waitMs)
      let isGood: boolean | undefined
      try {
        isGood = await isRight()
      } finally {
        if (isGood !== false) await delays.end(account)
      }
      await (isGood ? signedIn : failures).add(pair, 1)
      return isGood
    })
  }
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

const maxWaiting = 100

/** Runs checks with the same key one after another. */
function openKeyedMutex() {
  const lines = new Map<string, { last: Promise<unknown>; waiting: number }>()
  return async (key: string, check: Check): Promise<boolean> => {
    const line = lines.get(key) ?? { last: Promise.resolve(), waiting: 0 }
    if (line.waiting >= maxWaiting) throw unavailable('Too many sign-ins are in progress; try again later')
    lines.set(key, line)
    line.waiting++
    const done = line.last.then(check)
    line.last = done.catch(() => {})
    return done.finally(() => {
      if (--line.waiting === 0) lines.delete(key)
    })
  }
}
