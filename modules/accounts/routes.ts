import { Elysia } from 'elysia'
import type { Services } from '../../src/services.ts'
import * as document from './operations.ts'
import { openOwnAccount } from './own-account.ts'
import { DeleteMeBody, UpdateMeBody } from './schema.ts'
import { signInRoutes } from './sign-in-routes.ts'

export function accountRoutes(services: Services) {
  const { claimed, guarded } = services.guards
  const { read, change, close, signOut, signOutEverywhere } = openOwnAccount(services)
  const reading = new Elysia()
    .use(guarded)
    .get('/me', ({ request, caller }) => read(request, caller), document.reading)
  const writing = new Elysia()
    .use(claimed)
    .patch('/me', ({ request, address, claims, body }) => change({ request, address, claims }, body), {
      jsonBody: true,
      body: UpdateMeBody,
      ...document.changing,
    })
    .delete('/me', ({ request, address, claims, body }) => close({ request, address, claims }, body), {
      optionalJsonBody: true,
      body: DeleteMeBody,
      ...document.deleting,
    })
    .post(
      '/logout',
      ({ request, address, claims }) => signOut({ request, address, claims }),
      document.signingOut,
    )
    .post(
      '/logout-all',
      ({ request, address, claims }) => signOutEverywhere({ request, address, claims }),
      document.signingOutEverywhere,
    )
  return new Elysia({ prefix: '/auth' }).use(signInRoutes(services)).use(reading).use(writing)
}
