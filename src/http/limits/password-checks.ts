import type { Log } from '../../log.ts'
import { unavailable } from '../../responses/errors.ts'
import { passwordDelayed, rateLimited } from './budget.ts'
import { type Counter, hashedKey, type Policy } from './counter.ts'
import type { openDelays } from './delays.ts'

interface SignInAttempt {
  address: string
  email: string
  /** Undefined where there is no such account, or nothing has looked. */
  accountId?: string
}

type Check = () => Promise<boolean>

/** Runs a check of a password, and returns its result. @throws HttpError 429 after too many wrong passwords */
export type CheckPassword = (attempt: SignInAttempt, isRight: Check) => Promise<boolean>

/** How long an address is known from which an account signed in. */
const exemptSeconds = 30 * 86_400

/**
 * Counts wrong passwords per account and address together, one after another, and then rejects the address. Over all
 * addresses it only delays: an address from which the account signed in is exempt, so nobody elsewhere can lock it out.
 */
export function openPasswordChecks(
  counterOf: (policy: Policy) => Counter,
  delays: ReturnType<typeof openDelays>,
  policy: Policy,
): CheckPassword {
  const failures = counterOf(policy)
  const signedIn = counterOf({ name: 'signed-in', points: 1, seconds: exemptSeconds })
  const oneByOne = openKeyedMutex()
  return ({ address, email }, isRight) => {
    const [pair, account] = [hashedKey(`${address}\n${email}`), hashedKey(email)]
    return oneByOne(pair, async () => {
      const [failed, known] = await Promise.all([failures.read(pair), signedIn.read(pair)])
      if (failed.points >= policy.points) throw rateLimited(policy, failed.msToEnd)
      const waitMs = await delays.begin(account, known.points > 0)
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

/** Logs each wrong password by its account: what was sent as an email address may be a password. */
export const withFailureLog =
  (log: Log, guess: CheckPassword): CheckPassword =>
  async (attempt, isRight) => {
    const isGood = await guess(attempt, isRight)
    const { address, accountId = null } = attempt
    if (!isGood) log.warn({ address, accountId }, 'sign-in failed: wrong password')
    return isGood
  }

const maxWaiting = 100

/** Runs checks that share a key one after another. @throws HttpError 503 when too many wait */
function openKeyedMutex() {
  const lines = new Map<string, { last: Promise<unknown>; waiting: number }>()
  return async (key: string, check: Check): Promise<boolean> => {
    const line = lines.get(key) ?? { last: Promise.resolve(), waiting: 0 }
    if (line.waiting >= maxWaiting) throw unavailable('Too many sign-ins wait')
    lines.set(key, line)
    line.waiting++
    const done = line.last.then(check)
    line.last = done.catch(() => {})
    return done.finally(() => {
      if (--line.waiting === 0) lines.delete(key)
    })
  }
}
