import type { Log } from '../../log.ts'
import { unavailable } from '../../wire/refusals.ts'
import { type Counter, digestOf, type Policy } from './counter.ts'
import type { openDelays } from './delays.ts'
import { delayed, overdrawn } from './budget.ts'

/** Who tries the password of which account. */
export interface Try {
  address: string
  email: string
  /** Unknown where there is no such account, or nobody has looked. */
  accountId?: string
}

/** Runs a check of a password, and gives what it finds. @throws Refusal 429 after too many that found it wrong. */
export type Guess = (who: Try, isRight: () => Promise<boolean>) => Promise<boolean>

interface Means {
  /** Wrong passwords of an account and an address. */
  failures: Counter
  policy: Policy
  /** Right ones. */
  signedIn: Counter
  /** Wrong passwords of an account, from all addresses. */
  delays: ReturnType<typeof openDelays>
}

/**
 * Counts wrong passwords per account and address together, one after another, and then refuses the address. Over all
 * addresses it only delays: an address from which the account signed in is exempt, so nobody elsewhere can lock it out.
 */
export function openGuesses({ failures, policy, signedIn, delays }: Means): Guess {
  const oneByOne = openKeyedMutex()
  return ({ address, email }, isRight) => {
    const [pair, account] = [digestOf(`${address}\n${email}`), digestOf(email)]
    return oneByOne(pair, async () => {
      const [failed, known] = await Promise.all([failures.read(pair), signedIn.read(pair)])
      if (failed.points >= policy.points) throw overdrawn(policy, failed.msToEnd)
      const waitMs = await delays.begin(account, known.points > 0)
      if (waitMs > 0) throw delayed(waitMs)
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

/** Logs each wrong password: by its account, for what was sent as an email address may be a password. */
export const logged =
  (log: Log, guess: Guess): Guess =>
  async (who, isRight) => {
    const isGood = await guess(who, isRight)
    const { address, accountId = null } = who
    if (!isGood) log.warn({ address, accountId }, 'sign-in failed: wrong password')
    return isGood
  }

const mostWaiting = 100

/** Runs work that shares a key one after another, and other work beside it. @throws Refusal 503 when too much waits */
function openKeyedMutex() {
  const lines = new Map<string, { last: Promise<unknown>; waiting: number }>()

  return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const line = lines.get(key) ?? { last: Promise.resolve(), waiting: 0 }
    if (line.waiting >= mostWaiting) throw unavailable('Too many sign-ins wait')
    lines.set(key, line)
    line.waiting++
    const done = line.last.then(work)
    line.last = done.catch(() => {})
    try {
      return await done
    } finally {
      if (--line.waiting === 0) lines.delete(key)
    }
  }
}
