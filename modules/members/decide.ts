import type { MemberRow } from '../../drizzle/rows.ts'
import { appeared, type Context, type Decision, removed, updated } from '../../src/actor/events.ts'
import { requireMatch } from '../../src/actor/precondition.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import { requireStanding, type Role } from '../../src/core/access.ts'
import { conflict, notFound } from '../../src/core/errors.ts'

export interface Invitation {
  /** Undefined when nobody has the email address; said only to someone who may invite. */
  userId: string | undefined
  role: Role
  mostMembers: number
}

export function inviteMember(
  state: ProjectState,
  context: Context,
  { userId, role, mostMembers }: Invitation,
): Decision<MemberRow> {
  requireStanding(state.standing(context.caller), 'ADMIN', 'Project')
  if (!userId) throw notFound('User')
  if (state.standing(userId) === 'OWNER') throw conflict('This user owns the project')
  if (state.memberOf(userId)) throw conflict('This user is a member already')
  if (state.memberCount >= mostMembers) throw conflict(`A project has at most ${mostMembers} members`)
  const { projectId } = state
  const fields = { id: context.newId(), projectId, userId, role, createdAt: context.now }
  const change = appeared(state, context, 'member.invited', 'member', fields)
  return { changes: [change], answer: change.after }
}

export function setRole(state: ProjectState, context: Context, id: string, role: Role): Decision<MemberRow> {
  requireStanding(state.standing(context.caller), 'ADMIN', 'Project')
  const member = state.member(id)
  if (!member) throw notFound('Member')
  requireMatch(context, member)
  if (member.role === role) return { changes: [], answer: member }
  const change = updated(state, context, 'member.role-set', 'member', member, { role })
  return { changes: [change], answer: change.after }
}

/** An admin removes anyone; everyone may leave. */
export function removeMember(state: ProjectState, context: Context, id: string): Decision<void> {
  requireStanding(state.standing(context.caller), 'VIEWER', 'Project')
  const member = state.member(id)
  if (member?.userId !== context.caller) requireStanding(state.standing(context.caller), 'ADMIN', 'Project')
  if (!member) throw notFound('Member')
  requireMatch(context, member)
  return { changes: [removed(state, context, 'member.removed', 'member', member)], answer: undefined }
}
