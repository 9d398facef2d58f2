import type { ProjectState } from '../../src/actor/state.ts'
import { command, inProject, type RouteRequest } from '../../src/commands/command.ts'
import { created, deleted } from '../../src/model/events.ts'
import { loggedRow } from '../../src/log/rows.ts'
import type { Services } from '../../src/services.ts'
import { requireConfirmation, confirmationErrors } from '../accounts/confirm.ts'
import { freeSlot } from '../members/integrations.ts'
import { integrationFacts } from '../members/loaded-integrations.ts'
import { newToken } from '../tokens/routes.ts'
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
  preload: ({ accountId }: { accountId: string }) => integrationFacts({ accountId }),
} as const
const withOperation = (id: string) => ({ operation: { id, tag: 'ServiceAccounts' } })

function requireAccount(state: ProjectState, accountId: string) {
  const account = state.row('service_account', accountId)
  if (!account) throw noAccount()
  return account
}

export const createToken = command('token.create', {
  ...adminCommand,
  ...withOperation('createServiceAccountToken'),
  about:
    'Creates a token for the service account, like `POST /tokens` for the caller. `password` is the password of the caller. The token gives access only to the project of the service account.',
  input: CreateToken,
  body: CreateTokenBody,
  storesReply: true,
  preparedFields: ['made'],
  decide(state, context, { accountId, made: { digest, sealed, ...token } }) {
    const { tokenVersion: version } = requireAccount(state, accountId)
    const all = state.all('token').filter(({ userId }) => userId === accountId)
    if (all.filter(({ expiresAt }) => expiresAt > context.now).length >= maxTokens) throw tooManyTokens()
    // An expired token occupies its slot until a worker deletes the token.
    const slot = freeSlot(all)
    const { lastUsedAt: _, ...fields } = { ...token, userId: accountId, createdBy: context.caller.userId }
    const texts = { scopes: token.scopes.join(' '), projects: token.projects?.join(' ') ?? null }
    const event = created(state, context, 'token.created', { ...fields, ...texts })
    return { changes: [{ ...event, unlogged: { version, slot, digest } }], answer: { ...token, sealed } }
  },
  view: newTokenView,
  status: 201,
  location: (id, { projectId, accountId }) =>
    `/projects/${projectId}/service-accounts/${accountId}/tokens/${id}`,
  errors: [...confirmationErrors, tooManyTokens(), badExpiry(), noAccount()],
})

export const deleteToken = command('token.delete', {
  ...adminCommand,
  ...withOperation('deleteServiceAccountToken'),
  about: 'Revokes the token. Every process rejects the token within a second.',
  input: DeleteToken,
  status: 204,
  decide(state, context, { accountId, tokenId }) {
    requireAccount(state, accountId)
    const token = state.row('token', tokenId)
    if (token?.userId !== accountId) throw noToken()
    return {
      changes: [deleted(state, context, 'token.deleted', loggedRow('token', token))],
      answer: undefined,
    }
  },
  message: 'Token deleted successfully',
  does: 'add',
  errors: [noToken(), noAccount()],
})

/** Creates the token and checks the password before the rule runs, because rules do no I/O. */
export const tokenHooks = (services: Services) => ({
  creating: {
    async prepare(_: object, { body, claims, address }: RouteRequest) {
      const input = body as TokenInput
      await requireConfirmation(services, { claims: claims!, address: address! }, input.password)
      return { made: await newToken(services, claims!.userId, input) }
    },
  },
  deleting: {
    after: ({ accountId }: { accountId: string }) => services.authenticate.invalidate(accountId),
  },
})
