import { Elysia } from 'elysia'
import type { Http } from '../../src/http/http.ts'
import type { Services } from '../../src/services.ts'
import { forgot, resend, reset, verify } from './writes.ts'

export function mailRoutes({ claimed, signIn, write }: Http, services: Services) {
  const open = new Elysia()
    .use(signIn)
    .post(...write('/email/verify', verify(services), 'Verify an email address'))
    .post(...write('/password/forgot', forgot(services), 'Send a mail to set a forgotten password'))
    .post(...write('/password/reset', reset(services), 'Set a forgotten password'))
  const signedIn = new Elysia()
    .use(claimed)
    .post(...write('/email/resend', resend(services), 'Send the verification mail again'))
  return new Elysia({ prefix: '/auth' }).use(open).use(signedIn)
}
