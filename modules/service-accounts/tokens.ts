import type { ProjectState } from '../../src/actor/state.ts'
import { command, inProject } from '../../src/commands/command.ts'
import { created, deleted } from '../../src/model/events.ts'
import { withoutSecrets } from '../../src/log/rows.ts'
import type { RouteContext } from '../../src/http/secret-writes.ts'
import type { Services } from '../../src/services.ts'
import { requireConfirmation, confirmationErrors } from '../accounts/confirm.ts'
import { freeSlot } from '../creations/entity.ts'
import { newToken } from '../tokens/own-tokens.ts'
import {
  badExpiry,
  CreateTokenBody,
  tooManyTokens,
  maxTokens,
  newTokenView,
  noToken,
  type TokenInput,
} from '../tokens/schema.ts'
import { noAccount } from './commands.ts'
import { CreateToken, DeleteToken } from './schema.ts'

const adminCommand = {
  target: inProject(),
  role: 'ADMIN',
  callers: 'signedIn',
  isSecret: true,
  preload: ({ accountId }: { accountId: string }) => ({ integrations: [{ accountId }] }),
} as const
const called = (id: string) => ({ operation: { id, tag: 'ServiceAccounts' } })

/** @throws HttpError 404 */
function requireAccount(state: ProjectState, accountId: string) {
  const account = state.row('service_account', accountId)
  if (!account) throw noAccount()
  return account
}

export const createToken = command('token.create', {
  ...adminCommand,
  ...called('createServiceAccountToken'),
  about:
    'As `POST /tokens`, for the service account; the password is that of the caller. It reaches its project alone.',
  input: CreateToken,
  body: CreateTokenBody,
  storesReply: true,
  preparedFields: ['made'],
  decide(state, known, { accountId, made: { digest, sealed, ...token } }) {
    const { tokenVersion: version } = requireAccount(state, accountId)
    const all = state.all('token').filter(({ userId }) => userId === accountId)
    if (all.filter(({ expiresAt }) => expiresAt > known.now).length >= maxTokens) throw tooManyTokens()
    const slot = freeSlot(all) // expired tokens keep their slots until a worker deletes them
    const { lastUsedAt: _, ...told } = { ...token, userId: accountId, createdBy: known.caller.userId }
    const texts = { scopes: token.scopes.join(' '), projects: token.projects?.join(' ') ?? null }
    const change = created(state, known, 'token.created', { ...told, ...texts })
    return { changes: [{ ...change, unlogged: { version, slot, digest } }], answer: { ...token, sealed } }
  },
  view: newTokenView,
  status: 201,
  location: (id, { projectId, accountId }) =>
    `/projects/${projectId}/service-accounts/${accountId}/tokens/${id}`,
  errors: [...confirmationErrors, tooManyTokens(), badExpiry(), noAccount()],
})

export const deleteToken = command('token.delete', {
  ...adminCommand,
  ...called('deleteServiceAccountToken'),
  about: 'It is refused from now on, everywhere within a second.',
  input: DeleteToken,
  status: 204,
  decide(state, known, { accountId, tokenId }) {
    requireAccount(state, accountId)
    const token = state.row('token', tokenId)
    if (token?.userId !== accountId) throw noToken()
    return {
      changes: [deleted(state, known, 'token.deleted', withoutSecrets('token', token))],
      answer: undefined,
    }
  },
  message: 'Token deleted successfully',
  replyDescription: 'Ended',
  does: 'add',
  errors: [noToken(), noAccount()],
})

/** Rules cannot make tokens, or check passwords. */
export const tokenHooks = (services: Services) => ({
  creating: {
    async prepare(_: object, { body, claims, address }: RouteContext) {
      const wanted = body as TokenInput
      await requireConfirmation(services, { claims: claims!, address: address! }, wanted.password)
      return { made: await newToken(services, claims!.userId, wanted) }
    },
  },
  deleting: {
    after: ({ accountId }: { accountId: string }) => services.authenticate.invalidate(accountId),
  },
})
