import { Elysia } from 'elysia'
import type { Query } from '../../src/commands/query.ts'
import type { Http } from '../../src/http/http.ts'
import type { Services } from '../../src/services.ts'
import { badToken } from '../../src/responses/errors.ts'
import { deleteMe, signOut, signOutEverywhere, updateMe } from './own-account.ts'
import { accountById } from './queries.ts'
import { login, register } from './sign-in.ts'
import { accountView } from './user.ts'
import { shown } from '../../src/responses/reply.ts'

export function accountRoutes({ ask, claimed, guarded, signIn, write }: Http, services: Services) {
  const open = new Elysia()
    .use(signIn)
    .post(...write('/register', register(services), 'Register an account'))
    .post(...write('/login', login(services), 'Sign in'))
  const reading = new Elysia().use(guarded).get(...ask('/me', getMe(services), 'Who am I'))
  const writing = new Elysia()
    .use(claimed)
    .patch(...write('/me', updateMe(services), 'Change my name or password'))
    .delete(...write('/me', deleteMe(services), 'Delete my account'))
    .post(...write('/logout', signOut(services), 'Sign out'))
    .post(...write('/logout-all', signOutEverywhere(services), 'Sign out everywhere'))
  return new Elysia({ prefix: '/auth' }).use(open).use(reading).use(writing)
}

const getMe = ({ database }: Services): Query => ({
  called: { id: 'getMe', tag: 'Authentication' },
  about: 'The account that the token is of.',
  view: accountView,
  answers: { description: 'The caller' },
  async read({ request, caller }) {
    const account = await accountById(database.reads, caller.userId)
    if (!account) throw badToken()
    return shown(request, accountView.of(account))
  },
})
