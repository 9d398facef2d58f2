import { Elysia } from 'elysia'
import type { Session } from '../../src/identity/validity.ts'
import type { Services } from '../../src/services.ts'
import * as document from './operations.ts'
import { CreateTokenBody } from './schema.ts'
import { openTokenWork } from './work.ts'

/** The tokens of the account that signed in. */
const own = (request: Request, claims: Session) => {
  return { request, claims, holder: () => Promise.resolve(claims), path: '/tokens' }
}

export function tokenRoutes(services: Services) {
  const tokens = openTokenWork(services)
  return new Elysia({ prefix: '/tokens' })
    .use(services.guards.claimed)
    .post('', ({ request, claims, body }) => tokens.create(own(request, claims), body), {
      jsonBody: true,
      body: CreateTokenBody,
      ...document.creating,
    })
    .get('', ({ request, claims }) => tokens.list(own(request, claims)), document.listing)
    .delete(
      '/:id',
      ({ request, claims, params }) => tokens.delete(own(request, claims), params.id),
      document.deleting,
    )
}
