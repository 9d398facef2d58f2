import { Elysia } from 'elysia'
import type { RouteBuilders } from '../../src/http/route-builders.ts'
import type { Services } from '../../src/services.ts'
import { forgot, resend, reset, verify } from './account-commands.ts'

export function mailRoutes({ sessionGuard, signInGuard, accountRoute }: RouteBuilders, services: Services) {
  const open = new Elysia()
    .use(signInGuard)
    .post(...accountRoute('/email/verify', verify(services), 'Verify an email address'))
    .post(...accountRoute('/password/forgot', forgot(services), 'Request a mail to reset the password'))
    .post(...accountRoute('/password/reset', reset(services), 'Reset the password'))
  const signedIn = new Elysia()
    .use(sessionGuard)
    .post(...accountRoute('/email/resend', resend(services), 'Send the verification mail again'))
  return new Elysia({ prefix: '/auth' }).use(open).use(signedIn)
}
