import { createHash } from 'node:crypto'
import type { Counter, Policy } from './counter.ts'
import { overdrawn } from './headers.ts'
import { openKeyedMutex } from './keyed-mutex.ts'

/** Who tries the password of which account. */
export interface Try {
  address: string
  email: string
}

/** Runs a check of a password, and gives what it finds. @throws Refusal 429 after too many that found it wrong. */
export type Guess = (who: Try, isRight: () => Promise<boolean>) => Promise<boolean>

/**
 * Counts wrong passwords per account and address together: who guesses is slow, and nobody at another address is
 * locked out by it. One after another, so that many guesses at once are no more than their count allows.
 */
export function openGuesses(counter: Counter, policy: Policy): Guess {
  const alone = openKeyedMutex()
  return ({ address, email }, isRight) => {
    const pair = createHash('sha256').update(`${address}\n${email}`).digest('base64url')
    return alone(pair, async () => {
      const failed = await counter.read(pair)
      if (failed.points >= policy.points) throw overdrawn(policy, failed.msToEnd)
      const isGood = await isRight()
      if (!isGood) await counter.add(pair, 1)
      return isGood
    })
  }
}
