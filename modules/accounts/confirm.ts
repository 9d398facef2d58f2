import type { Claims } from '../../src/identity/tokens.ts'
import { databaseTime } from '../../src/postgres/clock.ts'
import { Secret } from '../../src/schema/text.ts'
import type { Services } from '../../src/services.ts'
import { invalidToken, forbidden, type HttpError } from '../../src/responses/errors.ts'
import { type Account, accountById } from './queries.ts'

/** A sign-in this young needs no password: a stolen token is rarely that young. */
const recentMinutes = 5
const old = `the sign-in is older than ${recentMinutes} minutes`

const passwordRequired = () => forbidden(`T${old.slice(1)}: send password in the body, or sign in again first`)
const wrongConfirmation = () => forbidden('The password is wrong')
export const confirmationErrors = [passwordRequired(), wrongConfirmation()]

const about = `The password of the account, needed when ${old}`
export const ConfirmingPassword = Secret(0, 1024, about, 'correct horse battery')

/**
 * Requires the password of the caller's account, or a recent sign-in by the database's clock, for writes that cannot be
 * undone or that outlive the token. A password that is given must be right in any case.
 * @throws HttpError 403, or 429 as for a sign-in
 */
export async function requireConfirmation(
  services: Services,
  { claims, address }: { claims: Claims; address: string },
  password?: string,
): Promise<void> {
  const { background } = services.database
  if (password === undefined) {
    const { issuedAt = -Infinity } = claims
    if ((await databaseTime(background)) - issuedAt >= recentMinutes * 60) throw passwordRequired()
    return
  }
  const account = await accountById(background, claims.userId)
  if (!account) throw invalidToken()
  await requirePassword(services, { account, address, password }, wrongConfirmation())
}

/** Checks a password under the limits of a sign-in. @throws HttpError 429, and `wrong` */
export async function requirePassword(
  { limits, passwords }: Services,
  { account, address, password }: { account: Account; address: string; password: string },
  wrong: HttpError,
): Promise<void> {
  const { id: accountId, email, passwordHash } = account
  await limits.takeSignIn(address)
  const isRight = () => passwords.matches(password, passwordHash, { address, account: email })
  if (!(await limits.checkPassword({ address, email, accountId }, isRight))) throw wrong
}
