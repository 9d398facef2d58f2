import { Elysia } from 'elysia'
import type { Services } from '../../src/services.ts'
import { openAsMe } from '../accounts/own-account.ts'
import * as document from './operations.ts'
import { ForgotBody, ResetBody, VerifyBody } from './schema.ts'
import { openMailWork } from './work.ts'

export function mailRoutes(services: Services) {
  const { claimed, signIn: strangers } = services.guards
  const { verify, resend, forgot, reset } = openMailWork(services, openAsMe(services))
  const open = new Elysia()
    .use(strangers)
    .post('/email/verify', ({ request, address, body }) => verify({ request, address, body }), {
      jsonBody: true,
      body: VerifyBody,
      ...document.verifying,
    })
    .post('/password/forgot', ({ request, address, body }) => forgot({ request, address, body }), {
      jsonBody: true,
      body: ForgotBody,
      ...document.forgetting,
    })
    .post('/password/reset', ({ request, address, body }) => reset({ request, address, body }), {
      jsonBody: true,
      body: ResetBody,
      ...document.resetting,
    })
  const signedIn = new Elysia()
    .use(claimed)
    .post(
      '/email/resend',
      ({ request, address, claims }) => resend({ request, address, claims }),
      document.resending,
    )
  return new Elysia({ prefix: '/auth' }).use(open).use(signedIn)
}
