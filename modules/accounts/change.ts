import type { Claims } from '../../src/identity/tokens.ts'
import { requireEtag } from '../../src/responses/if-match.ts'
import { badRequest, invalidToken, forbidden } from '../../src/responses/errors.ts'
import type { Services } from '../../src/services.ts'
import { requirePassword } from './confirm.ts'
import { type Account, accountById } from './queries.ts'
import { accountView } from './user.ts'
import { digestEtag } from '../../src/responses/reply.ts'

export const accountEtag = (account: Account): string => digestEtag(JSON.stringify(accountView.of(account)))

/** If `write` returns null, the account has changed meanwhile: reads the account again, and calls `write` again. */
export async function withOwnAccount<T>(
  { database }: Services,
  { claims, request }: { claims: Claims; request?: Request },
  write: (account: Account) => Promise<T | null>,
): Promise<T> {
  const ifMatch = request?.headers.get('if-match') ?? undefined
  for (;;) {
    const account = await accountById(database.background, claims.userId)
    if (account?.tokenVersion !== claims.version) throw invalidToken()
    requireEtag(ifMatch, accountEtag(account))
    const written = await write(account)
    if (written !== null) return written
  }
}

export const passwordMissing = () => badRequest('currentPassword is required to set a new password')
export const wrongPassword = () => forbidden('The current password is wrong')

/** Returns the changed account. A new password revokes every token of the account. */
export async function applyChanges(
  services: Services,
  address: string,
  account: Account,
  { name = account.name, ...passwords }: { name?: string; password?: string; currentPassword?: string },
): Promise<Account> {
  const { password, currentPassword } = passwords
  const renamed = { ...account, name: name.trim() }
  if (password === undefined) return renamed
  if (currentPassword === undefined) throw passwordMissing()
  services.newPasswords.require(password)
  await requirePassword(services, { account, address, password: currentPassword }, wrongPassword())
  const passwordHash = await services.passwords.hash(password, { address, account: account.email })
  return { ...renamed, passwordHash, tokenVersion: account.tokenVersion + 1 }
}
