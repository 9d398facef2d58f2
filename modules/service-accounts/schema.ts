import { Type } from '@sinclair/typebox'
import { IdOf, Input } from '../../src/schema/input.ts'
import type { Rows } from '../../src/model/entities.ts'
import { view } from '../../src/model/view.ts'
import type { MemberRole } from '../../src/identity/rights.ts'
import { Id, Timestamp } from '../../src/schema/response.ts'
import { Name } from '../../src/schema/text.ts'
import { CreatedBy, Revoke } from '../integrations/schema.ts'
import { Role } from '../members/schema.ts'
import type { NewToken } from '../tokens/schema.ts'

export const CreateServiceAccount = Input({
  projectId: IdOf('project'),
  name: Name(200, 'Importer'),
  role: Type.Optional(Role),
})
const ofAccount = { projectId: IdOf('project'), accountId: IdOf('service account') }
export const DeleteServiceAccount = Input({ ...ofAccount, revoke: Revoke })

/** `made` is the encrypted token, which the route creates before the command runs. */
export const CreateToken = Input({ ...ofAccount, made: Type.Unsafe<NewToken>(Type.Object({})) })
export const DeleteToken = Input({ ...ofAccount, tokenId: IdOf('token') })

/** A service account with its membership. `eventId` is the last event of the membership. */
export interface ServiceAccount extends Omit<Rows['service_account'], 'email'> {
  memberId: string
  role: MemberRole
}

export const serviceAccountView = view<ServiceAccount>({
  name: 'ServiceAccount',
  schema: Type.Object({
    id: Id('The account, by which tasks, comments and events name it'),
    name: Type.String({ description: 'What it is called', examples: ['Importer'] }),
    projectId: Id('The project that it is of'),
    memberId: Id('Its membership, used in member paths'),
    role: Role,
    createdBy: CreatedBy,
    createdAt: Timestamp('When it was made'),
  }),
})
