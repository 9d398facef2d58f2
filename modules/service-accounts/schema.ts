import { Type } from '@sinclair/typebox'
import { IdOf, Input } from '../../src/commands/input.ts'
import { view } from '../../src/commands/view.ts'
import type { MemberRole } from '../../src/identity/roles.ts'
import { Id, Timestamp } from '../../src/schema/answer.ts'
import { Name } from '../../src/schema/text.ts'
import { Role } from '../members/schema.ts'

export const CreateServiceAccount = Input({
  projectId: IdOf('project'),
  name: Name(200, 'Importer'),
  role: Type.Optional(Role),
})
export const ServiceAccountId = Input({ projectId: IdOf('project'), accountId: IdOf('service account') })

/** A service account with its membership. */
export interface ServiceAccount {
  id: string
  name: string
  projectId: string
  memberId: string
  role: MemberRole
  createdAt: string
  /** What last touched the membership. */
  eventId: string
}

export const serviceAccountView = view<ServiceAccount>({
  name: 'ServiceAccount',
  schema: Type.Object({
    id: Id('The account, by which tasks, comments and events name it'),
    name: Type.String({ description: 'What it is called', examples: ['Importer'] }),
    projectId: Id('The project that it is of'),
    memberId: Id('Its membership, used in member paths'),
    role: Role,
    createdAt: Timestamp('When it was made'),
  }),
  of: ({ id, name, projectId, memberId, role, createdAt }) => {
    return { id, name, projectId, memberId, role, createdAt }
  },
})
