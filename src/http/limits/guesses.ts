import { createHash } from 'node:crypto'
import type { Counter, Policy } from './counter.ts'
import type { openDelays } from './delays.ts'
import { delayed, overdrawn } from './headers.ts'
import { openKeyedMutex } from './keyed-mutex.ts'

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

const digestOf = (text: string) => createHash('sha256').update(text).digest('base64url')

/**
 * Counts wrong passwords per account and address together, one after another, and then refuses the address. Over all
 * addresses it only delays: an address from which the account signed in is exempt, so nobody elsewhere can lock it out.
 */
export function openGuesses({ failures, policy, signedIn, delays }: Means): Guess {
  const alone = openKeyedMutex()
  return ({ address, email }, isRight) => {
    const [pair, account] = [digestOf(`${address}\n${email}`), digestOf(email)]
    return alone(pair, async () => {
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
