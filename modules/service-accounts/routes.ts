import { Elysia } from 'elysia'
import type { Http } from '../../src/http/http.ts'
import { requireRole, roleNeeded } from '../../src/identity/rights.ts'
import { isId } from '../../src/ids.ts'
import { operation } from '../../src/openapi/operation.ts'
import type { Services } from '../../src/services.ts'
import { notFound } from '../../src/wire/refusals.ts'
import { tokensOf } from '../tokens/queries.ts'
import { ApiTokensView } from '../tokens/schema.ts'
import { createServiceAccount, deleteServiceAccount, noAccount } from './commands.ts'
import { versionOf } from './queries.ts'
import { serviceAccountReads } from './reads.ts'
import { aroundTokens, createToken, deleteToken } from './tokens.ts'
import { digested } from '../../src/wire/answers.ts'

const all = '/:id/service-accounts'
const one = `${all}/:accountId` as const

export function serviceAccountRoutes({ ask, claimed, guarded, run }: Http, services: Services) {
  const { list } = serviceAccountReads(services)
  const { creating, deleting } = aroundTokens(services)
  const accounts = new Elysia()
    .use(guarded)
    .post(...run(all, createServiceAccount, 'Make a service account'))
    .get(...ask(all, list, 'List service accounts'))
    .delete(...run(one, deleteServiceAccount, 'Delete a service account'))
  const tokens = new Elysia()
    .use(claimed)
    .post(...run(`${one}/tokens`, createToken, 'Make a token of a service account', creating))
    .get(
      `${one}/tokens`,
      async ({ request, claims, params: { id, accountId } }) => {
        await services.authenticate.require(claims)
        const seen = isId(id) ? await services.findRole(claims.caller, id) : undefined
        requireRole(seen?.role, 'ADMIN', 'Project')
        const { reads } = services.database
        const version = isId(accountId) ? await versionOf(reads, id, accountId) : undefined
        if (version === undefined) throw noAccount()
        const tokens = await tokensOf(reads, { userId: accountId, version })
        return digested(request, { body: JSON.stringify(tokens), link: null })
      },
      listing,
    )
    .delete(...run(`${one}/tokens/:tokenId`, deleteToken, 'End a token of a service account', deleting))
  return new Elysia({ prefix: '/projects' }).use(accounts).use(tokens)
}

const listing = operation({
  id: 'listServiceAccountTokens',
  tag: 'ServiceAccounts',
  summary: 'List the tokens of a service account',
  description: 'Those that hold, the oldest first, without their secrets. Takes the role ADMIN.',
  does: 'read',
  answers: { schema: ApiTokensView, description: 'All of them' },
  refuses: [roleNeeded('ADMIN'), noAccount(), notFound('Project')],
})
