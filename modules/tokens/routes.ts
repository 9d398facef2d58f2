import { Elysia } from 'elysia'
import type { Session } from '../../src/identity/validity.ts'
import type { Services } from '../../src/services.ts'
import * as document from './operations.ts'
import { CreateTokenBody } from './schema.ts'
import { openTokenWork } from './work.ts'

/** The tokens of the account that signed in. */
const own = ({ request, claims, address }: { request: Request; claims: Session; address: string }) => {
  return { request, claims, address, holder: () => Promise.resolve(claims), path: '/tokens' }
}

export function tokenRoutes(services: Services) {
  const tokens = openTokenWork(services)
  return new Elysia({ prefix: '/tokens' })
    .use(services.guards.claimed)
    .post(
      '',
      ({ request, claims, address, body }) => tokens.create(own({ request, claims, address }), body),
      {
        jsonBody: true,
        body: CreateTokenBody,
        ...document.creating,
      },
    )
    .get(
      '',
      ({ request, claims, address }) => tokens.list(own({ request, claims, address })),
      document.listing,
    )
    .delete(
      '/:id',
      ({ request, claims, address, params }) => tokens.delete(own({ request, claims, address }), params.id),
      document.deleting,
    )
}
