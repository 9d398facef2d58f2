import { Type } from '@sinclair/typebox'
import { roleNeeded } from '../../src/identity/roles.ts'
import { operation } from '../../src/openapi/operation.ts'
import { sampleId } from '../../src/schema/answer.ts'
import { notFound } from '../../src/wire/refusals.ts'
import { unconfirmed } from '../accounts/confirm.ts'
import { badExpiry, full, noToken } from '../tokens/limits.ts'
import { ApiTokenView, CreateTokenBody, NewApiTokenView } from '../tokens/schema.ts'
import { noAccount } from './commands.ts'

const tag = 'ServiceAccounts'
const refuses = [roleNeeded('ADMIN'), noAccount(), notFound('Project')]

export const creating = operation({
  id: 'createServiceAccountToken',
  tag,
  summary: 'Make a token of a service account',
  description:
    'As `POST /tokens`, for the service account; the password is that of the caller. It reaches its project alone. Takes the role ADMIN.',
  does: 'add',
  body: CreateTokenBody,
  answers: {
    status: 201,
    schema: NewApiTokenView,
    description: 'Made',
    secret: true,
    madeAt: `/projects/${sampleId}/service-accounts/${sampleId}/tokens/${sampleId}`,
  },
  refuses: [...refuses, ...unconfirmed, full(), badExpiry()],
})

export const listing = operation({
  id: 'listServiceAccountTokens',
  tag,
  summary: 'List the tokens of a service account',
  description: 'Those that hold, the oldest first, without their secrets. Takes the role ADMIN.',
  does: 'read',
  answers: { schema: Type.Array(ApiTokenView), description: 'All of them' },
  refuses,
})

export const deleting = operation({
  id: 'deleteServiceAccountToken',
  tag,
  summary: 'End a token of a service account',
  description: 'It is refused from now on, everywhere within a second. Takes the role ADMIN.',
  does: 'add',
  answers: { status: 204, description: 'Ended', secret: true },
  refuses: [noToken(), ...refuses],
})
