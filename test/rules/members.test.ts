import { inviteMember, removeMember } from '../../modules/members/commands.ts'
import type { MemberRole } from '../../src/identity/rights.ts'
import { admin, editor, eventOf, memberOf, owner, projectId, staffed, stranger, viewer } from './events.ts'
import { ruleOf, when, now, testRejections } from './given.ts'

const invite = (userId: string | undefined, role: MemberRole = 'VIEWER', projectMembers = 10) =>
  ruleOf(
    inviteMember,
    { projectId, email: 'someone@example.com', role },
    { person: userId ? personOf(userId) : undefined, limits: { projectMembers, projectWebhooks: 100 } },
  )
const personOf = (id: string) => ({ id, name: 'Someone', email: 'someone@example.com', nameTag: '' })
const remove = (memberId: string) => ruleOf(removeMember, { projectId, memberId })
const needsAdmin = 'This needs the role ADMIN in the project'

describe('inviting', () => {
  testRejections(staffed, {
    'for the owner': [admin, invite(owner), '409 This user owns the project'],
    'for a member with another role': [owner, invite(viewer, 'ADMIN'), '409 This user is a member already'],
    'when the project is full': [owner, invite(stranger, 'VIEWER', 3), '409 A project has at most 3 members'],
    'to a caller without the role before the address is looked up': [
      editor,
      invite(undefined),
      `403 ${needsAdmin}`,
    ],
    'to a stranger before the address is looked up': [stranger, invite(undefined), '404 Project not found'],
  })

  test('accepts a member up to the limit', () => {
    const after = { id: 'new-1', projectId, userId: stranger, role: 'VIEWER', createdAt: now } as const
    when(owner, invite(stranger, 'VIEWER', 4), staffed).then(
      eventOf('member.invited', 'member', null, { ...after, eventId: 'new-2' }),
    )
  })
})

describe('removing a member', () => {
  test('every member may leave', () => {
    for (const [user, role] of [
      [editor, 'EDITOR'],
      [viewer, 'VIEWER'],
    ] as const) {
      const own = memberOf(user, role)
      when(user, remove(own.id), staffed).then(eventOf('member.removed', 'member', own, null))
    }
  })

  testRejections(staffed, {
    'to callers below ADMIN, even if the member does not exist': [
      viewer,
      remove('nobody'),
      `403 ${needsAdmin}`,
    ],
  })
})
