import type { Claims } from '../../src/identity/tokens.ts'
import { databaseTime } from '../../src/postgres/clock.ts'
import { Secret } from '../../src/schema/input.ts'
import type { Services } from '../../src/services.ts'
import { invalidToken, forbidden, type HttpError } from '../../src/responses/errors.ts'
import { type Account, accountById } from './queries.ts'

/** After a sign-in, the password is not required for this time: a stolen token is usually older. */
const recentMinutes = 5
const oldSignIn = `sign-in is older than ${recentMinutes} minutes`

const passwordRequired = () =>
  forbidden(`The ${oldSignIn}: send password in the body, or sign in again first`)
const wrongConfirmation = () => forbidden('The password is wrong')
export const confirmationErrors = [passwordRequired(), wrongConfirmation()]

const description = `A text, the password, required when the ${oldSignIn}`
export const ConfirmingPassword = Secret(0, 1024, description, 'correct horse battery')

/** Requires the caller's password or, without `password`, a sign-in that is recent by the database's clock. */
export async function requireConfirmation(
  services: Services,
  { claims, address }: { claims: Claims; address: string },
  password?: string,
): Promise<void> {
  const { background } = services.database
  if (password === undefined) {
    const age = (await databaseTime(background)) - (claims.issuedAt ?? -Infinity)
    if (age >= recentMinutes * 60) throw passwordRequired()
    return
  }
  const account = await accountById(background, claims.userId)
  if (!account) throw invalidToken()
  await requirePassword(services, { account, address, password }, wrongConfirmation())
}

/** Checks a password within the rate limits of sign-ins. @throws HttpError 429, or `wrongPassword` */
export async function requirePassword(
  { limits, passwords }: Services,
  { account, address, password }: { account: Account; address: string; password: string },
  wrongPassword: HttpError,
): Promise<void> {
  const { id: accountId, email, passwordHash } = account
  await limits.takeSignIn(address)
  const isRight = () => passwords.matches(password, passwordHash, address)
  if (!(await limits.checkPassword({ address, email, accountId }, isRight))) throw wrongPassword
}
