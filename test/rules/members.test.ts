import { describe, test } from 'bun:test'
import { inviteMember, removeMember, setRole } from '../../modules/members/commands.ts'
import type { MemberRole } from '../../src/identity/rights.ts'
import {
  admin,
  editor,
  fact,
  memberOf,
  owner,
  projectCreated,
  projectGone,
  projectId,
  staffed,
  stranger,
  viewer,
} from './facts.ts'
import { asking, given, now } from './given.ts'

const invite = (userId: string | undefined, role: MemberRole = 'VIEWER', projectMembers = 10) =>
  asking(
    inviteMember,
    { projectId, email: 'someone@example.com', role },
    { person: userId ? personOf(userId) : undefined, limits: { projectMembers, projectWebhooks: 100 } },
  )
const personOf = (id: string) => ({ id, name: 'Someone', email: 'someone@example.com', nameTag: '' })
const give = (memberId: string, role: MemberRole) => asking(setRole, { projectId, memberId, role })
const remove = (memberId: string) => asking(removeMember, { projectId, memberId })

describe('inviting', () => {
  for (const role of ['VIEWER', 'EDITOR', 'ADMIN'] as const) {
    test(`makes a stranger ${role} at once`, () => {
      const after = { id: 'new-1', projectId, userId: stranger, role, createdAt: now, eventId: 'new-2' }
      given(staffed)
        .when(admin, invite(stranger, role))
        .then(fact('member.invited', 'member', null, after))
        .answering(after)
    })
  }

  test('is refused for an unknown email address', () => {
    given(staffed).when(admin, invite(undefined)).thenRefused(404, 'User not found')
  })

  test('does not tell somebody who may not invite whether an address is known', () => {
    given(staffed)
      .when(editor, invite(undefined))
      .thenRefused(403, 'This needs the role ADMIN in the project')
    given(staffed).when(stranger, invite(undefined)).thenRefused(404, 'Project not found')
  })

  test('is refused for the owner', () => {
    given(staffed).when(admin, invite(owner)).thenRefused(409, 'This user owns the project')
  })

  test('is refused for a member, also with another role', () => {
    given(staffed).when(owner, invite(viewer, 'ADMIN')).thenRefused(409, 'This user is a member already')
  })

  test('is refused when the project is full', () => {
    given(staffed)
      .when(owner, invite(stranger, 'VIEWER', 3))
      .thenRefused(409, 'A project has at most 3 members')
  })

  test('fills the last place', () => {
    const after = { id: 'new-1', projectId, userId: stranger, role: 'VIEWER', createdAt: now } as const
    given(staffed)
      .when(owner, invite(stranger, 'VIEWER', 4))
      .then(fact('member.invited', 'member', null, { ...after, eventId: 'new-2' }))
  })

  test('brings somebody back who was removed', () => {
    const gone = fact('member.removed', 'member', memberOf(viewer, 'VIEWER'), null)
    const after = { id: 'new-1', projectId, userId: viewer, role: 'EDITOR', createdAt: now } as const
    given([...staffed, gone])
      .when(owner, invite(viewer, 'EDITOR'))
      .then(fact('member.invited', 'member', null, { ...after, eventId: 'new-2' }))
  })
})

describe('setting a role', () => {
  const before = memberOf(viewer, 'VIEWER')

  test('gives it', () => {
    const after = { ...before, role: 'EDITOR', eventId: 'new-1' } as const
    given(staffed)
      .when(admin, give(before.id, 'EDITOR'))
      .then(fact('member.role_set', 'member', before, after))
      .answering(after)
  })

  test('lets an admin step down', () => {
    const own = memberOf(admin, 'ADMIN')
    const after = { ...own, role: 'VIEWER', eventId: 'new-1' } as const
    given(staffed)
      .when(admin, give(own.id, 'VIEWER'))
      .then(fact('member.role_set', 'member', own, after))
  })

  test('is nothing when the member has it', () => {
    given(staffed).when(admin, give(before.id, 'VIEWER')).thenNothing(before)
  })

  test('is refused for a member who is not there', () => {
    given(staffed).when(admin, give('nobody', 'VIEWER')).thenRefused(404, 'Member not found')
  })

  test('is refused at once to whose own role was taken', () => {
    const [had, has] = [memberOf(admin, 'ADMIN'), memberOf(admin, 'EDITOR')]
    given([...staffed, fact('member.role_set', 'member', had, has)])
      .when(admin, give(before.id, 'EDITOR'))
      .thenRefused(403, 'This needs the role ADMIN in the project')
  })
})

describe('removing a member', () => {
  const member = memberOf(editor, 'EDITOR')
  const left = fact('member.removed', 'member', member, null)
  const none = { webhooks: [], accounts: [], tokens: [] }
  const nothingCreated = { message: 'Member removed successfully', stillWorking: none, revoked: none }

  test('takes an admin', () => {
    given(staffed).when(admin, remove(member.id)).then(left).answering(nothingCreated)
  })

  test('is open to the member itself: everyone may leave', () => {
    const own = memberOf(viewer, 'VIEWER')
    given(staffed).when(editor, remove(member.id)).then(left)
    given(staffed)
      .when(viewer, remove(own.id))
      .then(fact('member.removed', 'member', own, null))
  })

  test('is refused to other members, whoever is meant', () => {
    for (const id of [member.id, 'nobody']) {
      given(staffed).when(viewer, remove(id)).thenRefused(403, 'This needs the role ADMIN in the project')
    }
  })

  test('is refused for a member who is not there', () => {
    given(staffed).when(owner, remove('nobody')).thenRefused(404, 'Member not found')
  })

  test('is refused to who has left already', () => {
    given([...staffed, left])
      .when(editor, remove(member.id))
      .thenRefused(404, 'Project not found')
  })

  test('is refused in a project that is gone', () => {
    given([projectCreated, projectGone]).when(owner, remove('nobody')).thenRefused(404, 'Project not found')
  })
})
