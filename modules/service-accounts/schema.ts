import { Type } from '@sinclair/typebox'
import { IdOf, Input, Name } from '../../src/schema/input.ts'
import type { Rows } from '../../src/model/entities.ts'
import { view } from '../../src/model/view.ts'
import type { MemberRole } from '../../src/identity/rights.ts'
import { Id, Timestamp } from '../../src/schema/response.ts'
import { CreatedBy, Revoke } from '../members/integrations.ts'
import { Role } from '../members/schema.ts'
import type { NewToken } from '../tokens/schema.ts'

export const CreateServiceAccount = Input({
  projectId: IdOf('project'),
  name: Name(200, 'Importer'),
  role: Type.Optional(Role),
})
const ofAccount = { projectId: IdOf('project'), accountId: IdOf('service account') }
export const DeleteServiceAccount = Input({ ...ofAccount, revoke: Revoke })

/** `made`: the new token, which the route creates and encrypts before the command runs. */
export const CreateToken = Input({ ...ofAccount, made: Type.Unsafe<NewToken>(Type.Object({})) })
export const DeleteToken = Input({ ...ofAccount, tokenId: IdOf('token') })

/** `eventId` is the last event of the account's membership. */
export interface ServiceAccount extends Omit<Rows['service_account'], 'email'> {
  memberId: string
  role: MemberRole
}

export const serviceAccountView = view<ServiceAccount>({
  name: 'ServiceAccount',
  schema: Type.Object({
    id: Id('The service account, with this id in tasks, comments and events'),
    name: Type.String({ description: 'The name of the service account', examples: ['Importer'] }),
    projectId: Id('The project'),
    memberId: Id('The membership, used in member paths'),
    role: Role,
    createdBy: CreatedBy,
    createdAt: Timestamp('When the service account was created'),
  }),
})
