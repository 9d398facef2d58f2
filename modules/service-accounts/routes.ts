import { Elysia } from 'elysia'
import type { RouteBuilders } from '../../src/http/route-builders.ts'
import type { Services } from '../../src/services.ts'
import { createServiceAccount, deleteServiceAccount } from './commands.ts'
import { serviceAccountReads } from './reads.ts'
import { tokenHooks, createToken, deleteToken } from './tokens.ts'

const accountsPath = '/:id/service-accounts'
const accountPath = `${accountsPath}/:accountId` as const

export function serviceAccountRoutes(
  { queryRoute, sessionGuard, callerGuard, commandRoute }: RouteBuilders,
  services: Services,
) {
  const { list, tokens } = serviceAccountReads(services)
  const { creating, deleting } = tokenHooks(services)
  const accounts = new Elysia()
    .use(callerGuard)
    .post(...commandRoute(accountsPath, createServiceAccount, 'Create a service account'))
    .get(...queryRoute(accountsPath, list, 'List service accounts'))
    .delete(...commandRoute(accountPath, deleteServiceAccount, 'Delete a service account'))
  const accountTokens = new Elysia()
    .use(sessionGuard)
    .post(
      ...commandRoute(`${accountPath}/tokens`, createToken, 'Create a token of a service account', creating),
    )
    .get(...queryRoute(`${accountPath}/tokens`, tokens, 'List the tokens of a service account'))
    .delete(
      ...commandRoute(
        `${accountPath}/tokens/:tokenId`,
        deleteToken,
        'Revoke a token of a service account',
        deleting,
      ),
    )
  return new Elysia({ prefix: '/projects' }).use(accounts).use(accountTokens)
}
