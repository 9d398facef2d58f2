import type { Log } from '../../log.ts'
import type { Guess } from './guesses.ts'

/** Logs each wrong password: by its account, for what was sent as an email address may be a password. */
export const logged =
  (log: Log, guess: Guess): Guess =>
  async (who, isRight) => {
    const isGood = await guess(who, isRight)
    const { address, accountId = null } = who
    if (!isGood) log.warn({ address, accountId }, 'sign-in failed: wrong password')
    return isGood
  }
