import { Elysia } from 'elysia'
import type { RouteBuilders } from '../../src/http/route-builders.ts'
import type { Services } from '../../src/services.ts'
import { createServiceAccount, deleteServiceAccount } from './commands.ts'
import { serviceAccountReads } from './reads.ts'
import { tokenHooks, createToken, deleteToken } from './tokens.ts'

const all = '/:id/service-accounts'
const one = `${all}/:accountId` as const

export function serviceAccountRoutes(
  { queryRoute, sessionGuard, callerGuard, commandRoute }: RouteBuilders,
  services: Services,
) {
  const { list, tokens } = serviceAccountReads(services)
  const { creating, deleting } = tokenHooks(services)
  const open = new Elysia()
    .use(callerGuard)
    .post(...commandRoute(all, createServiceAccount, 'Make a service account'))
    .get(...queryRoute(all, list, 'List service accounts'))
    .delete(...commandRoute(one, deleteServiceAccount, 'Delete a service account'))
  const signedIn = new Elysia()
    .use(sessionGuard)
    .post(...commandRoute(`${one}/tokens`, createToken, 'Make a token of a service account', creating))
    .get(...queryRoute(`${one}/tokens`, tokens, 'List the tokens of a service account'))
    .delete(
      ...commandRoute(`${one}/tokens/:tokenId`, deleteToken, 'End a token of a service account', deleting),
    )
  return new Elysia({ prefix: '/projects' }).use(open).use(signedIn)
}
