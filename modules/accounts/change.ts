import type { Claims } from '../../src/identity/tokens.ts'
import { requireEtag } from '../../src/wire/if-match.ts'
import { badRequest, badToken, forbidden } from '../../src/wire/refusals.ts'
import type { Services } from '../../src/services.ts'
import { requirePassword } from './confirm.ts'
import { type Account, accountById } from './queries.ts'
import { accountView } from './user.ts'
import { digestOf } from '../../src/wire/answers.ts'

export interface WantedChanges {
  name?: string
  password?: string
  currentPassword?: string
}

/** The ETag of an account: a digest of what it shows, for its version is not one of a project. */
export const etagOfMe = (account: Account): string => digestOf(JSON.stringify(accountView(account)))

/**
 * Reads the caller's account and gives what `write` makes of it; tries again when that is null, for somebody else
 * was faster. If-Match is held against each reading, so of writers with the same one exactly one succeeds.
 * @throws Refusal 401 when the account is gone or the token revoked, 412
 */
export async function withMe<T>(
  { database }: Pick<Services, 'database'>,
  { claims, request }: { claims: Claims; request: Request },
  write: (account: Account) => Promise<T | null>,
): Promise<T> {
  const ifMatch = request.headers.get('if-match') ?? undefined
  for (;;) {
    const account = await accountById(database.chores, claims.userId)
    if (account?.tokenVersion !== claims.version) throw badToken()
    requireEtag(ifMatch, etagOfMe(account))
    const written = await write(account)
    if (written !== null) return written
  }
}

export const passwordMissing = () =>
  badRequest('currentPassword is required: the password until now, to set another')
export const wrongPassword = () => forbidden('The current password is wrong')

/**
 * The account as it is wanted. Another password takes the current one, and ends every token.
 * @throws Refusal 400 without the current password, or for one that may not be chosen, 403 when it is wrong, 429 when it was too often
 */
export async function changedAccount(
  means: Pick<Services, 'passwords' | 'newPasswords' | 'limits'>,
  address: string,
  account: Account,
  { name = account.name, password, currentPassword }: WantedChanges,
): Promise<Account> {
  const renamed = { ...account, name: name.trim() }
  if (password === undefined) return renamed
  if (currentPassword === undefined) throw passwordMissing()
  means.newPasswords.require(password)
  await requirePassword(means, { account, address, password: currentPassword }, wrongPassword())
  const passwordHash = await means.passwords.hash(password, { address, account: account.email })
  return { ...renamed, passwordHash, tokenVersion: account.tokenVersion + 1 }
}
