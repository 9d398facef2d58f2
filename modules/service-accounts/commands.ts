import { requireMatch } from '../../src/actor/precondition.ts'
import { command, inProject } from '../../src/commands/command.ts'
import { removed } from '../../src/facts/facts.ts'
import { notFound } from '../../src/wire/refusals.ts'
import { joined, requireFree, staying } from '../members/commands.ts'
import { CreateServiceAccount, ServiceAccountId, serviceAccountView } from './schema.ts'

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
    const account = { id, projectId, name: name.trim(), email: addressOf(id), createdAt: known.now }
    const change = joined(state, known, id, role)
    const { id: memberId, eventId } = change.after
    const answer = { ...account, memberId, role, eventId }
    return { changes: [change], accounts: [account], answer }
  },
  shows: serviceAccountView,
  status: 201,
  madeAt: (id, { projectId }) => `/projects/${projectId}/service-accounts/${id}`,
})

/** It is out of the project at once, and its tokens are refused; the account itself goes later. */
export const deleteServiceAccount = command('serviceAccount.delete', {
  about: 'With its tokens. What it did stays, by an account that is gone; its tasks become unassigned.',
  input: ServiceAccountId,
  at: inProject(),
  least: 'ADMIN',
  whom: ({ accountId }) => ({ by: 'id', key: accountId }),
  decide(state, known, { accountId }) {
    const member = state.memberOf(accountId)
    if (!member || known.person?.serves !== state.projectId) throw noAccount()
    if (known.caller.userId === accountId) requireFree(known.caller)
    requireMatch(known, member)
    return { changes: [removed(state, known, 'member.removed', member)], answer: undefined }
  },
  says: 'Service account deleted successfully',
  refuses: [noAccount(), staying()],
})

export const serviceAccountCommands = [createServiceAccount, deleteServiceAccount]
