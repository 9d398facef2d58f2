import { Elysia } from 'elysia'
import type { Services } from '../../src/services.ts'
import * as document from './operations.ts'
import { openOwnAccount } from './own-account.ts'
import { openRegister } from './registration.ts'
import { UpdateMeBody } from './schema.ts'
import { openSignIn } from './sign-in.ts'
import { LoginBody, RegisterBody } from './user.ts'

export function accountRoutes(services: Services) {
  const { claimed, guarded, signIn: strangers } = services.guards
  const [register, signIn] = [openRegister(services), openSignIn(services)]
  const { read, change, close, signOut, signOutEverywhere } = openOwnAccount(services)
  const open = new Elysia()
    .use(strangers)
    .post('/register', ({ request, address, body }) => register({ request, address, body }), {
      jsonBody: true,
      body: RegisterBody,
      ...document.registering,
    })
    .post('/login', ({ request, address, body }) => signIn({ request, address, body }), {
      jsonBody: true,
      body: LoginBody,
      ...document.signingIn,
    })
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
    .delete('/me', ({ request, address, claims }) => close({ request, address, claims }), document.deleting)
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
  return new Elysia({ prefix: '/auth' }).use(open).use(reading).use(writing)
}
