import { accountCommand, type RouteRequest } from '../../src/commands/command.ts'
import type { Query } from '../../src/commands/query.ts'
import type { Module } from '../../src/module.ts'
import { canonicalId, isId } from '../../src/id-format.ts'
import { digestOfToken, newApiToken } from '../../src/identity/tokens.ts'
import { newId } from '../../src/ids.ts'
import { databaseTime } from '../../src/postgres/clock.ts'
import { respondWithJson } from '../../src/responses/reply.ts'
import { IdOf, Input, parseInstant } from '../../src/schema/input.ts'
import type { Services } from '../../src/services.ts'
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

export const tokens: Module = {
  routes: (services) => [
    ['post', '/tokens', createOwnToken(services), 'Create an API token'],
    ['get', '/tokens', listOwnTokens(services), 'List my API tokens'],
    ['delete', '/tokens/:id', deleteOwnToken(services), 'Revoke an API token'],
  ],
}

const createOwnToken = (services: Services) =>
  accountCommand('token.create', {
    about:
      'A program with the token acts as the account, with at most the rights of the account. Scopes limit these rights: `read` allows what a VIEWER may do, `write` allows what an EDITOR may do, and `admin` allows everything. Each operation states the scope that it requires. With `projects`, requests for any other project get 404, and operations that concern no project are rejected. Only this response shows the token; a retry with the same Idempotency-Key repeats the response. Requires the password, or a sign-in in the last 5 minutes.',
    input: CreateTokenBody,
    begin: ({ claims, address }: RouteRequest<'claims' | 'address'>, body) => ({
      admit: () => requireConfirmation(services, { claims, address }, body.password),
      async execute(toRecord) {
        const token = await newToken(services, claims.userId, body)
        await insertToken(services.database.background, claims, token, toRecord(token))
        return token
      },
    }),
    view: newTokenView,
    status: 201,
    location: (id) => `/tokens/${id}`,
    errors: [...confirmationErrors, tooManyTokens(), badExpiry()],
  })

const deleteOwnToken = ({ database }: Services) =>
  accountCommand('token.delete', {
    about:
      'Revokes the token. Within a second, every process rejects the token and closes streams that were opened with it.',
    input: Input({ id: IdOf('token') }),
    begin: ({ claims }: RouteRequest<'claims'>, { id }) => ({
      async execute(toRecord) {
        if (!isId(id) || !(await deleteToken(database.background, claims.userId, id, toRecord())))
          throw noToken()
      },
    }),
    message: 'Token deleted successfully',
    status: 204,
    does: 'add',
    errors: [noToken()],
  })

const listOwnTokens = ({ database }: Services): Query => ({
  ...tokenList,
  operation: { id: 'listTokens', tag: 'Tokens' },
  read: async ({ request, caller }) =>
    respondWithJson(request, await tokensOf(database.reads, caller.userId)),
})

/** Requires that the token expires within a year, by the database's clock. */
export async function newToken(
  { database, encryption }: Services,
  createdBy: string,
  { name, scopes, projects, ...input }: TokenInput,
): Promise<NewToken> {
  const now = new Date((await databaseTime(database.background)) * 1000)
  const inAYear = new Date(now)
  inAYear.setUTCFullYear(now.getUTCFullYear() + 1)
  const expiresAt = parseInstant(input.expiresAt)!
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
    sealed: encryption.encrypt(token),
  }
}
