import { requireMatch } from '../../src/actor/precondition.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import { command, inProject } from '../../src/commands/command.ts'
import { appeared, removed } from '../../src/model/events.ts'
import { toldOf } from '../../src/log/rows.ts'
import { notFound } from '../../src/wire/refusals.ts'
import { departure, ownEnd, tooMuchToRevoke } from '../creations/creations.ts'
import { departureView } from '../creations/schema.ts'
import { joined } from '../members/commands.ts'
import { requireFree, staying } from '../members/entity.ts'
import { full, maxTokens, noToken } from '../tokens/limits.ts'
import {
  CreateServiceAccount,
  CreateToken,
  DeleteServiceAccount,
  DeleteToken,
  sealedTokenView,
  serviceAccountView,
} from './schema.ts'

export const noAccount = () => notFound('Service account')

/** No mail gets there: RFC 2606 keeps the name for that. */
const addressOf = (id: string): string => `${id}@service-account.invalid`

export const createServiceAccount = command('serviceAccount.create', {
  about:
    'For a program: an account that cannot sign in, and a member like others, a VIEWER unless told. It sees its project alone, can neither leave it nor be invited elsewhere, and goes with it.',
  input: CreateServiceAccount,
  at: inProject(),
  least: 'ADMIN',
  keepsAnswer: true,
  decide(state, known, { name, role = 'VIEWER' }) {
    const { projectId } = state
    const id = known.newId()
    const account = {
      ...{ id, projectId, name: name.trim(), email: addressOf(id) },
      ...{ createdBy: known.caller.userId, createdAt: known.now },
    }
    const created = appeared(state, known, 'service_account.created', account)
    const change = joined(state, known, id, role)
    const { id: memberId, eventId } = change.after
    const answer = { ...account, memberId, role, eventId }
    return { changes: [{ ...created, untold: { tokenVersion: 0 } }, change], isBatch: true, answer }
  },
  shows: serviceAccountView,
  status: 201,
  madeAt: (id, { projectId }) => `/projects/${projectId}/service-accounts/${id}`,
})

/** It is out of the project at once, and its tokens are refused; the account itself goes later. */
export const deleteServiceAccount = command('serviceAccount.delete', {
  about:
    'With its tokens. What it did stays, by an account that is gone; its tasks become unassigned. The answer lists what the service account created and that still works; `revoke=true` ends it in the same commit.',
  input: DeleteServiceAccount,
  inQuery: ['revoke'],
  at: inProject(),
  least: 'ADMIN',
  needs: ({ accountId }) => ({ integrations: [{ accountId, creator: accountId }] }),
  keepsAnswer: true,
  decide(state, known, { accountId, revoke }) {
    const member = state.memberOf(accountId)
    if (!member || !state.row('service_account', accountId)) throw noAccount()
    if (known.caller.userId === accountId) requireFree(known.caller)
    requireMatch(known, member)
    return departure(state, known, member, { revoke, message: 'Service account deleted successfully' })
  },
  shows: departureView,
  refuses: [noAccount(), staying(), ownEnd(), tooMuchToRevoke()],
})

/** @throws Refusal 404 */
function accountIn(state: ProjectState, accountId: string) {
  const account = state.row('service_account', accountId)
  if (!account) throw noAccount()
  return account
}

export const createToken = command('token.create', {
  input: CreateToken,
  at: inProject(),
  least: 'ADMIN',
  needs: ({ accountId }) => ({ integrations: [{ accountId }] }),
  keepsAnswer: true,
  decide(state, known, { projectId: _, accountId, digest, sealed, ...fields }) {
    const { tokenVersion: version } = accountIn(state, accountId)
    const all = state.all('token').filter(({ userId }) => userId === accountId)
    if (all.filter(({ expiresAt }) => expiresAt > known.now).length >= maxTokens) throw full()
    const used = new Set(all.map((token) => token.slot))
    let slot = 1
    while (used.has(slot)) slot++ // expired tokens keep their slots until a worker deletes them
    const told = { ...fields, userId: accountId, createdBy: known.caller.userId }
    const change = appeared(state, known, 'token.created', told)
    return {
      changes: [{ ...change, untold: { version, slot, digest } }],
      answer: { ...change.after, sealed },
    }
  },
  shows: sealedTokenView,
  status: 201,
  madeAt: (id, { projectId, accountId }) =>
    `/projects/${projectId}/service-accounts/${accountId}/tokens/${id}`,
})

export const deleteToken = command('token.delete', {
  input: DeleteToken,
  at: inProject(),
  least: 'ADMIN',
  needs: ({ accountId }) => ({ integrations: [{ accountId }] }),
  status: 204,
  decide(state, known, { accountId, tokenId }) {
    accountIn(state, accountId)
    const token = state.row('token', tokenId)
    if (token?.userId !== accountId) throw noToken()
    return { changes: [removed(state, known, 'token.deleted', toldOf('token', token))], answer: undefined }
  },
  says: 'Token deleted successfully',
})

export const serviceAccountCommands = [createServiceAccount, deleteServiceAccount, createToken, deleteToken]
