import { type Static, Type } from '@sinclair/typebox'
import { isIdInAnyCase } from '../../src/id-format.ts'
import { type Scope, scopes } from '../../src/identity/rights.ts'
import { view } from '../../src/model/view.ts'
import { badRequest, conflict, notFound } from '../../src/responses/errors.ts'
import { Body, ListOf, Instant, Name, Nullable, OneOf } from '../../src/schema/input.ts'
import { Id, OrNull, sampleId, Timestamp, named } from '../../src/schema/response.ts'
import { ConfirmingPassword } from '../accounts/confirm.ts'
import { CreatedBy } from '../members/integrations.ts'

export const maxTokens = 100
export const tooManyTokens = () => conflict(`An account has at most ${maxTokens} tokens`)
export const badExpiry = () => badRequest('expiresAt must be in the future, at most one year from now')
export const noToken = () => notFound('Token')

const maxProjectsOfToken = 100
const day = 86_400_000

const Scopes = ListOf<Scope>(OneOf('Scope', scopes), (value) => scopes.includes(value), scopes.length, {
  description: `A list of ${scopes.join(', ')}: each includes the scopes before it`,
  examples: [['read', 'write']],
})
const Projects = ListOf<string>(Type.String({ format: 'uuid' }), isIdInAnyCase, maxProjectsOfToken, {
  description: `A list of 1 to ${maxProjectsOfToken} project ids: the token gives access only to these projects`,
  examples: [[sampleId]],
})
const ExpiresAt = {
  ...Instant(),
  description: 'An ISO 8601 date-time with offset, or a date (midnight UTC), at most one year from now',
  examples: [`${new Date(Date.now() + 180 * day).toISOString().slice(0, 10)}T00:00:00.000Z`],
}

const fields = {
  name: Type.String({ description: 'The purpose of the token', examples: ['Importer'] }),
  scopes: Scopes,
  projects: Nullable(Projects),
  expiresAt: Timestamp('When the token expires'),
  createdBy: CreatedBy,
  createdAt: Timestamp('When the token was created'),
  lastUsedAt: OrNull(
    Timestamp('When the token was last used'),
    'When the token was last used, to the minute; null if the token was never used',
  ),
}
const id = Id('The id of the token, used in its path')

const schema = Type.Object({ id, ...fields })
export type ApiToken = Static<typeof schema>
const apiTokenView = view<ApiToken>({ name: 'ApiToken', schema })

export const tokenList = {
  about: 'Returns the valid tokens, oldest first, without their secrets.',
  callers: 'signedIn',
  view: apiTokenView,
  reply: { schema: Type.Array(apiTokenView.schema), description: 'All valid tokens' },
} as const

/** `sealed` is the encrypted text of the token, decrypted only for the response. */
export interface NewToken extends ApiToken {
  digest: string
  sealed: string
}

export const newTokenView = view<Omit<NewToken, 'digest'>>({
  name: 'NewApiToken',
  schema: Type.Object({
    id,
    token: Type.String({
      description: 'The token for the Authorization header; only this response shows it',
      examples: ['dkt_h6BK4YdV0FXu3ajHgkV1Gp13ywLYKaVzzM3wkJNTbNC1zFwDu'],
    }),
    ...fields,
  }),
  of: ({ sealed: token, ...row }) => ({ sealed: { token }, ...apiTokenView.of(row) }),
  hasNoEtag: true,
})

export const CreateTokenBody = named(
  'CreateToken',
  Body(
    {
      name: Name(200, 'Importer'),
      scopes: Scopes,
      projects: Type.Optional(Nullable(Projects)),
      expiresAt: ExpiresAt,
      password: Type.Optional(ConfirmingPassword),
    },
    newTokenView.schema,
  ),
)
export type TokenInput = Static<typeof CreateTokenBody>
