import { created, updated } from '../../src/model/events.ts'
import { requireMatch } from '../../src/responses/if-match.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import { command, inProject, type RuleContext } from '../../src/commands/command.ts'
import { type MemberRole, requireRole, roleNeeded } from '../../src/identity/rights.ts'
import { conflict, notFound } from '../../src/responses/errors.ts'
import { normalEmail } from '../../src/schema/input.ts'
import { removeMemberEvents, ownRevocation, removalCost, tooManyToRevoke } from './removal.ts'
import { memberRemovalView } from './integrations.ts'
import { integrationFacts } from './loaded-integrations.ts'
import { requireMayLeave, cannotLeave, tooManyMembers } from './entity.ts'
import { InviteMember, memberView, RemoveMember, SetRole } from './schema.ts'

const alreadyMember = () => conflict('This user is the owner or a member already')
const emailNotVerified = () =>
  conflict('The user has not verified this email address: ask the user to open the verification mail')

export function joined(state: ProjectState, context: RuleContext, userId: string, role: MemberRole) {
  const { projectMembers } = context.limits
  if (state.all('member').length >= projectMembers) throw tooManyMembers(projectMembers)
  const { projectId } = state
  const fields = { id: context.newId(), projectId, userId, role, createdAt: context.now }
  return created(state, context, 'member.invited', fields)
}

export const inviteMember = command('member.invite', {
  about:
    'The user must have an account, and becomes a member immediately, without consent. The default role is VIEWER.',
  input: InviteMember,
  target: inProject(),
  role: 'ADMIN',
  person: ({ email }) => ({ by: 'email', key: normalEmail(email) }),
  invites: () => 1,
  decide(state, context, { role = 'VIEWER' }) {
    if (!context.person || context.person.serves) throw notFound('User')
    const { id: userId, isUnverified } = context.person
    if (isUnverified) throw emailNotVerified()
    if (state.roleOf(userId)) throw alreadyMember()
    const change = joined(state, context, userId, role)
    return { changes: [change], answer: change.after }
  },
  view: memberView,
  status: 201,
  location: (id, { projectId }) => `/projects/${projectId}/members/${id}`,
  errors: [alreadyMember(), emailNotVerified(), notFound('User')],
})

export const setRole = command('member.set_role', {
  about: "Applies from the member's next request.",
  input: SetRole,
  target: inProject(),
  role: 'ADMIN',
  person: ({ memberId }) => ({ by: 'member', key: memberId }),
  decide(state, context, { memberId, role }) {
    const member = state.row('member', memberId)
    if (!member) throw notFound('Member')
    requireMatch(context, member)
    if (member.role === role) return { changes: [], answer: member }
    const change = updated(state, context, 'member.role_set', member, { role })
    return { changes: [change], answer: change.after }
  },
  view: memberView,
  errors: [notFound('Member')],
})

export const removeMember = command('member.remove', {
  about:
    'An admin can remove any member, and every member can leave. Tasks assigned to the user become unassigned, and claims of the user end. The response lists the webhooks, service accounts and tokens that the member created and that still work. `revoke=true` deletes these in the same commit, and requires the role ADMIN.',
  input: RemoveMember,
  queryFields: ['revoke'],
  target: inProject(),
  role: 'VIEWER',
  scope: 'admin',
  authorize({ caller, role, memberId: own }, { memberId, revoke }) {
    if (revoke === 'true' || (own !== undefined && own !== memberId)) requireRole(role, 'ADMIN', 'Project')
    if (own === memberId) requireMayLeave(caller)
  },
  preload: ({ memberId, revoke }) => integrationFacts({ creator: memberId, revokes: revoke === 'true' }),
  ...removalCost,
  decide(state, context, { memberId, revoke }) {
    const member = state.row('member', memberId)
    if (!member) throw notFound('Member')
    requireMatch(context, member)
    return removeMemberEvents(state, context, member, { revoke, message: 'Member removed successfully' })
  },
  view: memberRemovalView,
  errors: [roleNeeded('ADMIN'), cannotLeave(), ownRevocation(), notFound('Member'), tooManyToRevoke()],
})
