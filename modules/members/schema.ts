import { Type } from '@sinclair/typebox'
import type { MemberRow } from '../../drizzle/rows.ts'
import { roles } from '../../src/core/access.ts'
import { Id, Timestamp } from '../../src/core/docs.ts'
import { Body, Query } from '../../src/core/doors.ts'
import { Cursor, Limit } from '../../src/core/pages.ts'
import { Email, OneOf } from '../../src/core/text.ts'
import { PersonView, personView, type User } from '../auth/schema.ts'

export const MemberView = Type.Object({
  id: Id('The membership, used in member paths'),
  userId: Id('The user'),
  user: PersonView('That user; null once the account is deleted'),
  projectId: Id('The project'),
  role: OneOf(roles),
  createdAt: Timestamp('When the user was invited'),
})

export const InviteBody = Body({ email: Email(), role: Type.Optional(OneOf(roles)) }, MemberView)
export const RoleBody = Body({ role: OneOf(roles) }, MemberView)
export const ListMembersQuery = Query({ limit: Limit(50, 200), cursor: Cursor() })

export const memberView = (
  { id, userId, projectId, role, createdAt }: MemberRow,
  user: User | undefined,
) => ({ id, userId, user: personView(user), projectId, role, createdAt })
