import { accountCommand, type RouteRequest } from '../../src/commands/command.ts'
import { tooCommon } from '../../src/identity/passwords.ts'
import type { Claims } from '../../src/identity/tokens.ts'
import { badRequest, invalidToken, forbidden } from '../../src/responses/errors.ts'
import { requireEtag } from '../../src/responses/if-match.ts'
import { digestEtag } from '../../src/responses/reply.ts'
import { Input } from '../../src/schema/input.ts'
import type { Services } from '../../src/services.ts'
import { requireConfirmation, confirmationErrors, requirePassword } from './confirm.ts'
import {
  closeAccountJob,
  deleteAccount,
  replaceAccount,
  revokeToken,
  type Account,
  accountById,
} from './queries.ts'
import { updatedAccountView, DeleteMeBody, UpdateMeBody } from './schema.ts'
import { withOperation, accountView } from './user.ts'

export const updateMe = (services: Services) =>
  accountCommand('me.update', {
    ...withOperation('updateMe'),
    about:
      'Absent fields do not change. A new password requires `currentPassword`; a wrong `currentPassword` gets 403. The new password revokes every token of the account, including API tokens, and the response contains a new token.',
    input: UpdateMeBody,
    endsTokens: true,
    begin: (caller: RouteRequest<'claims' | 'address'>, body) => ({
      execute: (toRecord) =>
        withOwnAccount(services, caller, async (before) => {
          const after = await applyChanges(services, caller.address, before, body)
          const isNew = after.tokenVersion !== before.tokenVersion
          const claims = isNew ? await services.tokens.issue(after.id, after.tokenVersion) : undefined
          const row = { ...after, claims, eventId: accountEtag(after).slice(1, -1) }
          return (await replaceAccount(services.database.background, before, after, toRecord(row)))
            ? row
            : null
        }),
    }),
    view: updatedAccountView,
    errors: [passwordMissing(), tooCommon(), wrongPassword()],
  })

export const deleteMe = (services: Services) =>
  accountCommand('me.delete', {
    ...withOperation('deleteMe'),
    about:
      'Deletes the account immediately and permanently, with its tokens, projects and memberships. The comments of the account remain, without the name of their author. Requires the password, or a sign-in in the last 5 minutes.',
    input: DeleteMeBody,
    endsTokens: true,
    begin: (caller: RouteRequest<'claims' | 'address'>, { password }) => ({
      fingerprinted: password === undefined ? null : { password },
      admit: () => requireConfirmation(services, caller, password),
      execute: (toRecord) =>
        withOwnAccount(services, caller, async (account) => {
          const job = await closeAccountJob(services.database.background, account)
          if (!(await deleteAccount(services.database.background, account, job, toRecord()))) return null
          void services.jobs.enqueue([job])
        }),
    }),
    message: 'Account deleted successfully',
    errors: confirmationErrors,
  })

export const signOut = ({ database }: Services) =>
  accountCommand('me.logout', {
    ...withOperation('logout'),
    about: 'Revokes the token of this request. Every process rejects the token within a second.',
    input: Input({}),
    endsTokens: true,
    begin: ({ claims }: RouteRequest<'claims'>) => ({
      fingerprinted: { token: claims.tokenId },
      execute: (toRecord) => revokeToken(database.background, claims, toRecord()),
    }),
    message: 'Signed out successfully',
    does: 'add',
  })

export const signOutEverywhere = (services: Services) =>
  accountCommand('me.logout_all', {
    ...withOperation('logoutAll'),
    about:
      'Revokes every token of the caller, including API tokens. Every process rejects the tokens within a second.',
    input: Input({}),
    endsTokens: true,
    begin: ({ claims }: RouteRequest<'claims'>) => ({
      execute: (toRecord) =>
        withOwnAccount(services, { claims }, async (before) => {
          const after = { ...before, tokenVersion: before.tokenVersion + 1 }
          if (!(await replaceAccount(services.database.background, before, after, toRecord()))) return null
        }),
    }),
    message: 'Signed out everywhere successfully',
    does: 'add',
  })

const accountEtag = (account: Account): string => digestEtag(JSON.stringify(accountView.of(account)))

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

const passwordMissing = () => badRequest('currentPassword is required to set a new password')
const wrongPassword = () => forbidden('The current password is wrong')

/** Returns the changed account. A new password revokes every token of the account. */
async function applyChanges(
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
  const passwordHash = await services.passwords.hash(password, address)
  return { ...renamed, passwordHash, tokenVersion: account.tokenVersion + 1 }
}
