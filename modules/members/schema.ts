import { Type } from '@sinclair/typebox'
import type { MemberRow } from '../../drizzle/rows.ts'
import { IdOf, Input, Email, OneOf } from '../../src/schema/input.ts'
import { view } from '../../src/model/view.ts'
import { roles } from '../../src/identity/rights.ts'
import { Id, Timestamp } from '../../src/schema/response.ts'
import { PersonView, personView } from '../accounts/user.ts'
import { Revoke } from './integrations.ts'

export const Role = OneOf('Role', roles)

export const InviteMember = Input({
  projectId: IdOf('project'),
  email: Email('grace@example.com'),
  role: Type.Optional(Role),
})
export const SetRole = Input({ projectId: IdOf('project'), memberId: IdOf('member'), role: Role })
export const RemoveMember = Input({ projectId: IdOf('project'), memberId: IdOf('member'), revoke: Revoke })

export const memberView = view<MemberRow>({
  name: 'Member',
  schema: Type.Object({
    id: Id('The membership, used in member paths'),
    userId: Id('The user'),
    user: PersonView('The user; null after the account is deleted'),
    projectId: Id('The project'),
    role: Role,
    createdAt: Timestamp('When the user was invited'),
  }),
  computed: { user: (_, user) => personView(user) },
})
