import { requireMatch } from '../../src/responses/if-match.ts'
import { command, inProject } from '../../src/commands/command.ts'
import { created } from '../../src/model/events.ts'
import { notFound } from '../../src/responses/errors.ts'
import { removeMemberEvents, ownEnd, removalCost, tooMuchToRevoke } from '../creations/creations.ts'
import { memberRemovalView } from '../creations/schema.ts'
import { joined } from '../members/commands.ts'
import { requireMayLeave, cannotLeave } from '../members/entity.ts'
import { CreateServiceAccount, DeleteServiceAccount, serviceAccountView } from './schema.ts'

export const noAccount = () => notFound('Service account')

/** RFC 2606 reserves the name: no mail arrives. */
const addressOf = (id: string): string => `${id}@service-account.invalid`

export const createServiceAccount = command('serviceAccount.create', {
  about:
    'For a program: an account that cannot sign in, and a member like others, a VIEWER unless told. It sees its project alone, can neither leave it nor be invited elsewhere, and goes with it.',
  input: CreateServiceAccount,
  target: inProject(),
  role: 'ADMIN',
  storesReply: true,
  decide(state, known, { name, role = 'VIEWER' }) {
    const { projectId } = state
    const id = known.newId()
    const account = {
      ...{ id, projectId, name: name.trim(), email: addressOf(id) },
      ...{ createdBy: known.caller.userId, createdAt: known.now },
    }
    const event = created(state, known, 'service_account.created', account)
    const change = joined(state, known, id, role)
    const { id: memberId, eventId } = change.after
    const answer = { ...account, memberId, role, eventId }
    return { changes: [{ ...event, unlogged: { tokenVersion: 0 } }, change], isBatch: true, answer }
  },
  view: serviceAccountView,
  status: 201,
  location: (id, { projectId }) => `/projects/${projectId}/service-accounts/${id}`,
})

export const deleteServiceAccount = command('serviceAccount.delete', {
  about:
    'With its tokens. What it did stays, by an account that is gone; its tasks become unassigned. The answer lists what the service account created and that still works; `revoke=true` ends it in the same commit.',
  input: DeleteServiceAccount,
  queryFields: ['revoke'],
  target: inProject(),
  role: 'ADMIN',
  preload: ({ accountId, revoke }) => ({
    integrations: [{ accountId, creator: accountId, revokes: revoke === 'true' }],
  }),
  ...removalCost,
  decide(state, known, { accountId, revoke }) {
    const member = state.memberOf(accountId)
    if (!member || !state.row('service_account', accountId)) throw noAccount()
    if (known.caller.userId === accountId) requireMayLeave(known.caller)
    requireMatch(known, member)
    return removeMemberEvents(state, known, member, {
      revoke,
      message: 'Service account deleted successfully',
    })
  },
  view: memberRemovalView,
  errors: [noAccount(), cannotLeave(), ownEnd(), tooMuchToRevoke()],
})

export const serviceAccountCommands = [createServiceAccount, deleteServiceAccount]
