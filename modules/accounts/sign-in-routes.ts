import { Elysia } from 'elysia'
import type { Services } from '../../src/services.ts'
import * as document from './operations.ts'
import { openRegister } from './registration.ts'
import { openSignIn } from './sign-in.ts'
import { LoginBody, RegisterBody } from './user.ts'

/** For callers without a token. */
export function signInRoutes(services: Services) {
  const [register, signIn] = [openRegister(services), openSignIn(services)]
  return new Elysia()
    .use(services.guards.signIn)
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
}
