import { accountCommand, type SignedInRequest } from '../../src/commands/command.ts'
import type { Query } from '../../src/commands/query.ts'
import { IdOf, Input } from '../../src/schema/input.ts'
import { digestOfToken, newApiToken } from '../../src/identity/api-tokens.ts'
import { canonicalId, isId, newId } from '../../src/ids.ts'
import { databaseTime } from '../../src/postgres/clock.ts'
import { parseInstant } from '../../src/schema/text.ts'
import type { Services } from '../../src/services.ts'
import { respondWithJson } from '../../src/responses/reply.ts'
import { requireConfirmation, confirmationErrors } from '../accounts/confirm.ts'
import { deleteToken, insertToken, tokensOf } from './queries.ts'
import {
  badExpiry,
  CreateTokenBody,
  tooManyTokens,
  type NewToken,
  newTokenView,
  noToken,
  tokenList,
  type TokenInput,
} from './schema.ts'

export const createOwnToken = (services: Services) =>
  accountCommand('token.create', {
    about:
      'For a program, in the name of the account and with no more rights than it has. A scope is a ceiling on the role: `read` that of a VIEWER, `write` of an EDITOR, `admin` none; each operation names the one it takes. With `projects`, all others are as absent, and what is in no project is refused. The answer shows the token, and nothing ever again but a repeat under its Idempotency-Key. Takes the password, or a recent sign-in.',
    input: CreateTokenBody,
    begin: ({ claims, address }: SignedInRequest, wanted) => ({
      admit: () => requireConfirmation(services, { claims, address }, wanted.password),
      async execute(keep) {
        const token = await newToken(services, claims.userId, wanted)
        await insertToken(services.database.background, claims, token, keep(token))
        return token
      },
    }),
    view: newTokenView,
    status: 201,
    location: (id) => `/tokens/${id}`,
    errors: [...confirmationErrors, tooManyTokens(), badExpiry()],
  })

export const deleteOwnToken = ({ database }: Services) =>
  accountCommand('token.delete', {
    about: 'It is refused from now on, everywhere within a second, also where it waits for events.',
    input: Input({ id: IdOf('token') }),
    begin: ({ claims }: SignedInRequest, { id }) => ({
      async execute(keep) {
        if (!isId(id) || !(await deleteToken(database.background, claims.userId, id, keep()))) throw noToken()
      },
    }),
    message: 'Token deleted successfully',
    status: 204,
    replyDescription: 'Ended',
    does: 'add',
    errors: [noToken()],
  })

export const listOwnTokens = ({ database }: Services): Query => ({
  ...tokenList,
  operation: { id: 'listTokens', tag: 'Tokens' },
  read: async ({ request, caller }) =>
    respondWithJson(request, await tokensOf(database.reads, caller.userId)),
})

/** A new token as it is stored. @throws HttpError 400 unless it ends within a year from now, by the database's clock */
export async function newToken(
  { database, sealing }: Services,
  createdBy: string,
  { name, scopes, projects, ...wanted }: TokenInput,
): Promise<NewToken> {
  const now = new Date((await databaseTime(database.background)) * 1000)
  const inAYear = new Date(now)
  inAYear.setUTCFullYear(now.getUTCFullYear() + 1)
  const expiresAt = parseInstant(wanted.expiresAt)!
  if (expiresAt <= now.toISOString() || expiresAt > inAYear.toISOString()) throw badExpiry()
  const token = newApiToken()
  return {
    id: newId(),
    name: name.trim(),
    scopes: [...new Set(scopes)],
    projects: projects ? [...new Set(projects.map(canonicalId))] : null,
    expiresAt,
    createdBy,
    createdAt: now.toISOString(),
    lastUsedAt: null,
    digest: digestOfToken(token),
    sealed: sealing.encrypt(token),
  }
}
