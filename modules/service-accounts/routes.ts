import { Elysia } from 'elysia'
import type { Http } from '../../src/http/http.ts'
import type { Services } from '../../src/services.ts'
import { CreateTokenBody } from '../tokens/schema.ts'
import { createServiceAccount, deleteServiceAccount } from './commands.ts'
import * as document from './operations.ts'
import type { serviceAccountReads } from './reads.ts'
import { openServiceAccountTokens } from './tokens.ts'

export const serviceAccountRoutes = (
  { guarded, run, ask }: Http,
  { list }: ReturnType<typeof serviceAccountReads>,
) =>
  new Elysia({ prefix: '/projects' })
    .use(guarded)
    .post(...run('/:id/service-accounts', createServiceAccount, 'Make a service account'))
    .get(...ask('/:id/service-accounts', list, 'List service accounts'))
    .delete(...run('/:id/service-accounts/:accountId', deleteServiceAccount, 'Delete a service account'))

export function serviceAccountTokenRoutes(services: Services) {
  const tokens = openServiceAccountTokens(services)
  return new Elysia({ prefix: '/projects/:id/service-accounts/:accountId/tokens' })
    .use(services.guards.claimed)
    .post(
      '',
      ({ request, claims, address, params, body }) =>
        tokens.create({ request, claims, address, params }, body),
      {
        jsonBody: true,
        body: CreateTokenBody,
        ...document.creating,
      },
    )
    .get(
      '',
      ({ request, claims, address, params }) => tokens.list({ request, claims, address, params }),
      document.listing,
    )
    .delete(
      '/:tokenId',
      ({ request, claims, address, params }) => tokens.delete({ request, claims, address, params }),
      document.deleting,
    )
}
