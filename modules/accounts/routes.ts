import type { Query } from '../../src/commands/query.ts'
import type { Module } from '../../src/module.ts'
import { invalidToken } from '../../src/responses/errors.ts'
import { respondWithJson } from '../../src/responses/reply.ts'
import type { Services } from '../../src/services.ts'
import { forgotPassword, resendVerification, reset, verify } from './mail.ts'
import { deleteMe, signOut, signOutEverywhere, updateMe } from './own-account.ts'
import { accountById } from './queries.ts'
import { login, register } from './sign-in.ts'
import { accountView, withOperation } from './user.ts'

export const accounts: Module = {
  routes: (services) => [
    ['post', '/auth/register', register(services), 'Register an account'],
    ['post', '/auth/login', login(services), 'Sign in'],
    ['post', '/auth/email/verify', verify(services), 'Verify an email address'],
    ['post', '/auth/password/forgot', forgotPassword(services), 'Request a mail to reset the password'],
    ['post', '/auth/password/reset', reset(services), 'Reset the password'],
    ['get', '/auth/me', getMe(services), 'Who am I'],
    ['patch', '/auth/me', updateMe(services), 'Change my name or password'],
    ['delete', '/auth/me', deleteMe(services), 'Delete my account'],
    ['post', '/auth/logout', signOut(services), 'Sign out'],
    ['post', '/auth/logout-all', signOutEverywhere(services), 'Sign out everywhere'],
    ['post', '/auth/email/resend', resendVerification(services), 'Send the verification mail again'],
  ],
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
