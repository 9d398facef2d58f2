import type { Claims } from '../../src/identity/tokens.ts'
import { clockOf } from '../../src/postgres/clock.ts'
import { Secret } from '../../src/schema/text.ts'
import type { Services } from '../../src/services.ts'
import { badToken, forbidden, type Refusal } from '../../src/wire/refusals.ts'
import { type Account, accountById } from './queries.ts'

/** A sign-in this young needs no password: whoever holds a stolen token rarely has it so soon. */
const recentMinutes = 5

const passwordNeeded = () =>
  forbidden(
    `The sign-in is older than ${recentMinutes} minutes: send password in the body, or sign in again first`,
  )
const notThePassword = () => forbidden('The password is wrong')
export const unconfirmed = [passwordNeeded(), notThePassword()]

export const ConfirmingPassword = Secret(
  0,
  1024,
  `The password of the account, needed when the sign-in is older than ${recentMinutes} minutes`,
  'correct horse battery',
)

type Means = Pick<Services, 'database' | 'limits' | 'passwords'>

/**
 * Requires the password of the caller's account, or a recent sign-in by the database's clock, for what a stolen token
 * must not do: what cannot be undone, and what outlives the token. A password that is given must be right in any case.
 * @throws Refusal 403, or 429 as for a sign-in
 */
export async function confirm(
  means: Means,
  { claims, address }: { claims: Claims; address: string },
  password?: string,
): Promise<void> {
  const { chores } = means.database
  if (password === undefined) {
    const { issuedAt = -Infinity } = claims
    if ((await clockOf(chores)) - issuedAt >= recentMinutes * 60) throw passwordNeeded()
    return
  }
  const account = await accountById(chores, claims.userId)
  if (!account) throw badToken()
  await requirePassword(means, { account, address, password }, notThePassword())
}

/** Checks a password under the limits of a sign-in. @throws Refusal 429, and `wrong` */
export async function requirePassword(
  { limits, passwords }: Pick<Means, 'limits' | 'passwords'>,
  { account, address, password }: { account: Account; address: string; password: string },
  wrong: Refusal,
): Promise<void> {
  const { id: accountId, email, passwordHash } = account
  await limits.enter(address)
  const isRight = () => passwords.matches(password, passwordHash, { address, account: email })
  if (!(await limits.guess({ address, email, accountId }, isRight))) throw wrong
}
