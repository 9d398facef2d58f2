import { Elysia } from 'elysia'
import type { Http } from '../../src/http/http.ts'
import type { Services } from '../../src/services.ts'
import { createServiceAccount, deleteServiceAccount } from './commands.ts'
import { serviceAccountReads } from './reads.ts'
import { aroundTokens, createToken, deleteToken } from './tokens.ts'

const all = '/:id/service-accounts'
const one = `${all}/:accountId` as const

export function serviceAccountRoutes({ ask, claimed, guarded, run }: Http, services: Services) {
  const { list, tokens } = serviceAccountReads(services)
  const { creating, deleting } = aroundTokens(services)
  const open = new Elysia()
    .use(guarded)
    .post(...run(all, createServiceAccount, 'Make a service account'))
    .get(...ask(all, list, 'List service accounts'))
    .delete(...run(one, deleteServiceAccount, 'Delete a service account'))
  const signedIn = new Elysia()
    .use(claimed)
    .post(...run(`${one}/tokens`, createToken, 'Make a token of a service account', creating))
    .get(...ask(`${one}/tokens`, tokens, 'List the tokens of a service account'))
    .delete(...run(`${one}/tokens/:tokenId`, deleteToken, 'End a token of a service account', deleting))
  return new Elysia({ prefix: '/projects' }).use(open).use(signedIn)
}
