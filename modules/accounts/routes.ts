import { Elysia } from 'elysia'
import type { Query } from '../../src/commands/query.ts'
import type { RouteBuilders } from '../../src/routes/route-builders.ts'
import { invalidToken } from '../../src/responses/errors.ts'
import { respondWithJson } from '../../src/responses/reply.ts'
import type { Services } from '../../src/services.ts'
import { forgotPassword, resendVerification, reset, verify } from './mail.ts'
import { deleteMe, signOut, signOutEverywhere, updateMe } from './own-account.ts'
import { accountById } from './queries.ts'
import { login, register } from './sign-in.ts'
import { accountView, withOperation } from './user.ts'

export function accountRoutes(
  { queryRoute, sessionGuard, callerGuard, signInGuard, accountRoute }: RouteBuilders,
  services: Services,
) {
  const open = new Elysia()
    .use(signInGuard)
    .post(...accountRoute('/register', register(services), 'Register an account'))
    .post(...accountRoute('/login', login(services), 'Sign in'))
    .post(...accountRoute('/email/verify', verify(services), 'Verify an email address'))
    .post(
      ...accountRoute('/password/forgot', forgotPassword(services), 'Request a mail to reset the password'),
    )
    .post(...accountRoute('/password/reset', reset(services), 'Reset the password'))
  const reads = new Elysia().use(callerGuard).get(...queryRoute('/me', getMe(services), 'Who am I'))
  const writes = new Elysia()
    .use(sessionGuard)
    .patch(...accountRoute('/me', updateMe(services), 'Change my name or password'))
    .delete(...accountRoute('/me', deleteMe(services), 'Delete my account'))
    .post(...accountRoute('/logout', signOut(services), 'Sign out'))
    .post(...accountRoute('/logout-all', signOutEverywhere(services), 'Sign out everywhere'))
    .post(...accountRoute('/email/resend', resendVerification(services), 'Send the verification mail again'))
  return new Elysia({ prefix: '/auth' }).use(open).use(reads).use(writes)
}

const getMe = ({ database }: Services): Query => ({
  ...withOperation('getMe'),
  about: 'Returns the account of the token.',
  view: accountView,
  reply: { description: "The caller's account" },
  async read({ request, caller }) {
    const account = await accountById(database.reads, caller.userId)
    if (!account) throw invalidToken()
    return respondWithJson(request, accountView.of(account))
  },
})
