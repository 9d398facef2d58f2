import { created, updated } from '../../src/model/events.ts'
import { requireMatch } from '../../src/responses/if-match.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import { command, inProject, type RuleContext } from '../../src/commands/command.ts'
import { type MemberRole, requireRole, roleNeeded } from '../../src/identity/rights.ts'
import { conflict, notFound } from '../../src/responses/errors.ts'
import { normalEmail } from '../../src/schema/text.ts'
import { departure, ownEnd, removing, tooMuchToRevoke } from '../creations/creations.ts'
import { departureView } from '../creations/schema.ts'
import { requireFree, staying } from './entity.ts'
import { InviteMember, memberView, RemoveMember, SetRole } from './schema.ts'

const isMember = () => conflict('This user is a member already')
const unverified = () =>
  conflict('The user has not verified this email address: ask them to open the mail that they were sent')
const ownsProject = () => conflict('This user owns the project')

/** @throws HttpError 409 */
export function joined(state: ProjectState, known: RuleContext, userId: string, role: MemberRole) {
  const { projectMembers } = known.limits
  if (state.memberCount >= projectMembers) throw conflict(`A project has at most ${projectMembers} members`)
  const { projectId } = state
  const fields = { id: known.newId(), projectId, userId, role, createdAt: known.now }
  return created(state, known, 'member.invited', fields)
}

export const inviteMember = command('member.invite', {
  about: 'The user must have an account, and is a member at once: a VIEWER unless told.',
  input: InviteMember,
  target: inProject(),
  role: 'ADMIN',
  person: ({ email }) => ({ by: 'email', key: normalEmail(email) }),
  invites: () => 1,
  decide(state, known, { role = 'VIEWER' }) {
    if (!known.person || known.person.serves) throw notFound('User')
    const { id: userId, isUnverified } = known.person
    if (isUnverified) throw unverified()
    if (state.roleOf(userId) === 'OWNER') throw ownsProject()
    if (state.memberOf(userId)) throw isMember()
    const change = joined(state, known, userId, role)
    return { changes: [change], answer: change.after }
  },
  view: memberView,
  status: 201,
  location: (id, { projectId }) => `/projects/${projectId}/members/${id}`,
  errors: [isMember(), ownsProject(), unverified(), notFound('User')],
})

export const setRole = command('member.set_role', {
  about: 'In force for the very next request.',
  input: SetRole,
  target: inProject(),
  role: 'ADMIN',
  person: ({ memberId }) => ({ by: 'member', key: memberId }),
  decide(state, known, { memberId, role }) {
    const member = state.row('member', memberId)
    if (!member) throw notFound('Member')
    requireMatch(known, member)
    if (member.role === role) return { changes: [], answer: member }
    const change = updated(state, known, 'member.role_set', member, { role })
    return { changes: [change], answer: change.after }
  },
  view: memberView,
  errors: [notFound('Member')],
})

export const removeMember = command('member.remove', {
  about:
    'An admin removes anyone, everyone may leave. Tasks assigned to the user become unassigned. The answer lists the webhooks, service accounts and tokens that the member created and that still work; `revoke=true` ends them in the same commit, and takes the role ADMIN.',
  input: RemoveMember,
  queryFields: ['revoke'],
  target: inProject(),
  role: 'VIEWER',
  scope: 'admin',
  authorize({ caller, role, memberId: own }, { memberId, revoke }) {
    if (revoke === 'true' || (own !== undefined && own !== memberId)) requireRole(role, 'ADMIN', 'Project')
    if (own === memberId) requireFree(caller)
  },
  preload: ({ memberId, revoke }) => ({ integrations: [{ creator: memberId, revokes: revoke === 'true' }] }),
  ...removing,
  decide(state, known, { memberId, revoke }) {
    const member = state.row('member', memberId)
    if (!member) throw notFound('Member')
    requireMatch(known, member)
    return departure(state, known, member, { revoke, message: 'Member removed successfully' })
  },
  view: departureView,
  errors: [roleNeeded('ADMIN'), staying(), ownEnd(), notFound('Member'), tooMuchToRevoke()],
})
