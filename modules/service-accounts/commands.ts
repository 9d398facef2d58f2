import { requireMatch } from '../../src/responses/if-match.ts'
import { command, inProject } from '../../src/commands/command.ts'
import { created } from '../../src/model/events.ts'
import { notFound } from '../../src/responses/errors.ts'
import { removeMemberEvents, ownRevocation, removalCost, tooManyToRevoke } from '../members/removal.ts'
import { memberRemovalView } from '../members/integrations.ts'
import { integrationFacts } from '../members/loaded-integrations.ts'
import { joined } from '../members/commands.ts'
import { requireMayLeave, cannotLeave } from '../members/entity.ts'
import { CreateServiceAccount, DeleteServiceAccount, serviceAccountView } from './schema.ts'

export const noAccount = () => notFound('Service account')

/** The address receives no mail: RFC 2606 reserves the domain `invalid`. */
const addressOf = (id: string): string => `${id}@service-account.invalid`

export const createServiceAccount = command('serviceAccount.create', {
  about:
    'A service account is a member for a program. Its default role is VIEWER. It cannot sign in, leave its project or join another project. It is deleted with its project.',
  input: CreateServiceAccount,
  target: inProject(),
  role: 'ADMIN',
  storesReply: true,
  decide(state, context, { name, role = 'VIEWER' }) {
    const { projectId } = state
    const id = context.newId()
    const account = {
      ...{ id, projectId, name: name.trim(), email: addressOf(id) },
      ...{ createdBy: context.caller.userId, createdAt: context.now },
    }
    const event = created(state, context, 'service_account.created', account)
    const joining = joined(state, context, id, role)
    const { id: memberId, eventId } = joining.after
    const answer = { ...account, memberId, role, eventId }
    return { changes: [{ ...event, unlogged: { tokenVersion: 0 } }, joining], isBatch: true, answer }
  },
  view: serviceAccountView,
  status: 201,
  location: (id, { projectId }) => `/projects/${projectId}/service-accounts/${id}`,
})

export const deleteServiceAccount = command('serviceAccount.delete', {
  about:
    'Deletes the service account with its tokens. Its events, and its comments with its name, remain; tasks assigned to it become unassigned, and its claims end. The response lists the webhooks, service accounts and tokens that it created and that still work. `revoke=true` deletes these in the same commit.',
  input: DeleteServiceAccount,
  queryFields: ['revoke'],
  target: inProject(),
  role: 'ADMIN',
  preload: ({ accountId, revoke }) =>
    integrationFacts({ accountId, creator: accountId, revokes: revoke === 'true' }),
  ...removalCost,
  decide(state, context, { accountId, revoke }) {
    const member = state.memberOf(accountId)
    if (!member || !state.row('service_account', accountId)) throw noAccount()
    if (context.caller.userId === accountId) requireMayLeave(context.caller)
    requireMatch(context, member)
    return removeMemberEvents(state, context, member, {
      revoke,
      message: 'Service account deleted successfully',
    })
  },
  view: memberRemovalView,
  errors: [noAccount(), cannotLeave(), ownRevocation(), tooManyToRevoke()],
})

export const serviceAccountCommands = [createServiceAccount, deleteServiceAccount]
