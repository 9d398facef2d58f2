import { Type } from '@sinclair/typebox'
import { operation } from '../../src/openapi/operation.ts'
import { unconfirmed } from '../accounts/confirm.ts'
import { badExpiry, full, noToken } from './limits.ts'
import { ApiTokenView, CreateTokenBody, NewApiTokenView } from './schema.ts'

// What the document says of each route. None has a scope: tokens are made and ended by who signed in.
const tag = 'Tokens'

export const creating = operation({
  id: 'createToken',
  tag,
  summary: 'Make an API token',
  description:
    'For a program, in the name of the account and with no more rights than it has. A scope is a ceiling on the role: `read` that of a VIEWER, `write` of an EDITOR, `admin` none; each operation names the one it takes. With `projects`, all others are as absent, and what is in no project is refused. The answer shows the token, and nothing ever again but a repeat under its Idempotency-Key. Takes the password, or a recent sign-in.',
  does: 'add',
  body: CreateTokenBody,
  answers: {
    status: 201,
    schema: NewApiTokenView,
    description: 'Made',
    secret: true,
    madeAt: '/tokens/019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5b',
  },
  refuses: [...unconfirmed, full(), badExpiry()],
})

export const listing = operation({
  id: 'listTokens',
  tag,
  summary: 'List my API tokens',
  description: 'Those that hold, the oldest first, without their secrets.',
  does: 'read',
  answers: { schema: Type.Array(ApiTokenView), description: 'All of them' },
})

export const deleting = operation({
  id: 'deleteToken',
  tag,
  summary: 'End an API token',
  description: 'It is refused from now on, everywhere within a second, also where it waits for events.',
  does: 'add',
  answers: { status: 204, description: 'Ended', secret: true },
  refuses: [noToken()],
})
