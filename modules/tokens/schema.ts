import { type Static, Type } from '@sinclair/typebox'
import { ConfirmingPassword } from '../accounts/confirm.ts'
import { Body, ListOf } from '../../src/schema/input.ts'
import { view } from '../../src/model/view.ts'
import { type Scope, scopes } from '../../src/identity/rights.ts'
import { canonicalId, isId } from '../../src/ids.ts'
import { Id, OrNull, sampleId, Timestamp } from '../../src/schema/response.ts'
import { named } from '../../src/schema/named.ts'
import { Instant, Name, Nullable, OneOf } from '../../src/schema/text.ts'
import { badRequest, conflict, notFound } from '../../src/responses/errors.ts'
import { CreatedBy } from '../creations/schema.ts'

/** Of one account. */
export const maxTokens = 100
export const tooManyTokens = () => conflict(`An account has at most ${maxTokens} tokens`)
export const badExpiry = () => badRequest('expiresAt must be a time in the coming year')
export const noToken = () => notFound('Token')

/** Of one token. */
const maxProjects = 100
const day = 86_400_000

const Scopes = ListOf<Scope>(OneOf('Scope', scopes), (one) => scopes.includes(one), scopes.length, {
  description: `A list of ${scopes.join(', ')}: each holds those before it`,
  examples: [['read', 'write']],
})
const isIdText = (one: unknown) => typeof one === 'string' && isId(canonicalId(one))
const Projects = ListOf<string>(Type.String({ format: 'uuid' }), isIdText, maxProjects, {
  description: `A list of 1 to ${maxProjects} ids: the only projects that there are for the token`,
  examples: [[sampleId]],
})
const ExpiresAt = {
  ...Instant(),
  description: 'An ISO 8601 date-time with offset, or a date (midnight UTC), in the coming year',
  examples: [`${new Date(Date.now() + 180 * day).toISOString().slice(0, 10)}T00:00:00.000Z`],
}

const shown = {
  name: Type.String({ description: 'What it is for', examples: ['Importer'] }),
  scopes: Scopes,
  projects: Nullable(Projects),
  expiresAt: Timestamp('When it ends'),
  createdBy: CreatedBy,
  createdAt: Timestamp('When it was made'),
  lastUsedAt: OrNull(Timestamp('When it was last used'), 'When it was last used, to the minute; null before'),
}
const id = Id('The token, used in its path')

const schema = Type.Object({ id, ...shown })
export type ApiToken = Static<typeof schema>
const apiTokenView = view<ApiToken>({ name: 'ApiToken', schema })

/** The common part of the lists of tokens. */
export const tokenList = {
  about: 'Those that hold, the oldest first, without their secrets.',
  callers: 'signedIn',
  view: apiTokenView,
  reply: { schema: Type.Array(apiTokenView.schema), description: 'All of them' },
} as const

/** A new token, which is sealed until it is answered. */
export interface NewToken extends ApiToken {
  digest: string
  sealed: string
}

export const newTokenView = view<Omit<NewToken, 'digest'>>({
  name: 'NewApiToken',
  schema: Type.Object({
    id,
    token: Type.String({
      description: 'For the Authorization header; shown only now',
      examples: ['dkt_h6BK4YdV0FXu3ajHgkV1Gp13ywLYKaVzzM3wkJNTbNC1zFwDu'],
    }),
    ...shown,
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
