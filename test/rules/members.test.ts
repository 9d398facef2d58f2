import { describe, test } from 'bun:test'
import { inviteMember, removeMember, setRole } from '../../modules/members/commands.ts'
import type { MemberRole } from '../../src/identity/rights.ts'
import {
  admin,
  editor,
  eventOf,
  memberOf,
  owner,
  projectCreated,
  projectDeleted,
  projectId,
  staffed,
  stranger,
  viewer,
} from './given-events.ts'
import { ruleOf, when, now, testRejections } from './given.ts'

const invite = (userId: string | undefined, role: MemberRole = 'VIEWER', projectMembers = 10) =>
  ruleOf(
    inviteMember,
    { projectId, email: 'someone@example.com', role },
    { person: userId ? personOf(userId) : undefined, limits: { projectMembers, projectWebhooks: 100 } },
  )
const personOf = (id: string) => ({ id, name: 'Someone', email: 'someone@example.com', nameTag: '' })
const give = (memberId: string, role: MemberRole) => ruleOf(setRole, { projectId, memberId, role })
const remove = (memberId: string) => ruleOf(removeMember, { projectId, memberId })

describe('inviting', () => {
  for (const role of ['VIEWER', 'EDITOR', 'ADMIN'] as const) {
    test(`makes the user a ${role} immediately`, () => {
      const after = { id: 'new-1', projectId, userId: stranger, role, createdAt: now, eventId: 'new-2' }
      when(admin, invite(stranger, role), staffed)
        .then(eventOf('member.invited', 'member', null, after))
        .answering(after)
    })
  }

  testRejections(staffed, {
    'for an unknown email address': [admin, invite(undefined), '404 User not found'],
    'for the owner': [admin, invite(owner), '409 This user owns the project'],
    'for a member, even with another role': [
      owner,
      invite(viewer, 'ADMIN'),
      '409 This user is a member already',
    ],
    'when the project is full': [owner, invite(stranger, 'VIEWER', 3), '409 A project has at most 3 members'],
  })

  test('checks the role of the caller before it looks up the address', () => {
    when(editor, invite(undefined), staffed).thenRejected(403, 'This needs the role ADMIN in the project')
    when(stranger, invite(undefined), staffed).thenRejected(404, 'Project not found')
  })

  test('accepts a member up to the limit', () => {
    const after = { id: 'new-1', projectId, userId: stranger, role: 'VIEWER', createdAt: now } as const
    when(owner, invite(stranger, 'VIEWER', 4), staffed).then(
      eventOf('member.invited', 'member', null, { ...after, eventId: 'new-2' }),
    )
  })

  test('accepts a user who was removed before', () => {
    const gone = eventOf('member.removed', 'member', memberOf(viewer, 'VIEWER'), null)
    const after = { id: 'new-1', projectId, userId: viewer, role: 'EDITOR', createdAt: now } as const
    when(owner, invite(viewer, 'EDITOR'), [...staffed, gone]).then(
      eventOf('member.invited', 'member', null, { ...after, eventId: 'new-2' }),
    )
  })
})

describe('setting a role', () => {
  const before = memberOf(viewer, 'VIEWER')

  test('sets the role', () => {
    const after = { ...before, role: 'EDITOR', eventId: 'new-1' } as const
    when(admin, give(before.id, 'EDITOR'), staffed)
      .then(eventOf('member.role_set', 'member', before, after))
      .answering(after)
  })

  test('lets an ADMIN lower their own role', () => {
    const own = memberOf(admin, 'ADMIN')
    const after = { ...own, role: 'VIEWER', eventId: 'new-1' } as const
    when(admin, give(own.id, 'VIEWER'), staffed).then(eventOf('member.role_set', 'member', own, after))
  })

  test('commits no event if the member has the role', () => {
    when(admin, give(before.id, 'VIEWER'), staffed).thenNoEvents(before)
  })

  testRejections(staffed, {
    'for a missing member': [admin, give('nobody', 'VIEWER'), '404 Member not found'],
  })

  test('is rejected with 403 directly after the caller has lost the role', () => {
    const [had, has] = [memberOf(admin, 'ADMIN'), memberOf(admin, 'EDITOR')]
    when(admin, give(before.id, 'EDITOR'), [
      ...staffed,
      eventOf('member.role_set', 'member', had, has),
    ]).thenRejected(403, 'This needs the role ADMIN in the project')
  })
})

describe('removing a member', () => {
  const member = memberOf(editor, 'EDITOR')
  const left = eventOf('member.removed', 'member', member, null)
  const none = { webhooks: [], serviceAccounts: [], tokens: [] }
  const nothingCreated = { message: 'Member removed successfully', stillWorking: none, revoked: none }

  test('an ADMIN removes any member', () => {
    when(admin, remove(member.id), staffed).then(left).answering(nothingCreated)
  })

  test('every member may leave', () => {
    const own = memberOf(viewer, 'VIEWER')
    when(editor, remove(member.id), staffed).then(left)
    when(viewer, remove(own.id), staffed).then(eventOf('member.removed', 'member', own, null))
  })

  test('is rejected with 403 for callers below ADMIN, even if the member to remove does not exist', () => {
    for (const id of [member.id, 'nobody']) {
      when(viewer, remove(id), staffed).thenRejected(403, 'This needs the role ADMIN in the project')
    }
  })

  testRejections(staffed, {
    'for a missing member': [owner, remove('nobody'), '404 Member not found'],
    'with 404 for a caller who has already left': [
      editor,
      remove(member.id),
      '404 Project not found',
      [...staffed, left],
    ],
    'in a deleted project': [
      owner,
      remove('nobody'),
      '404 Project not found',
      [projectCreated, projectDeleted],
    ],
  })
})
