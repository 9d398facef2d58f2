import { Elysia } from 'elysia'
import { operation } from '../../src/schema/operation.ts'
import { conflict, unauthorized } from '../../src/wire/refusals.ts'
import { newId } from '../../src/ids.ts'
import { normalEmail } from '../../src/schema/text.ts'
import type { Services } from '../../src/services.ts'
import { type Account, accountByEmail, insertAccount, keepAnswer } from './queries.ts'
import { LoginBody, RegisterBody, SignedInView, userView } from './user.ts'

const tag = 'Authentication'
const registered = 'This email address is registered already'

export function authRoutes({ database, tokens, passwords, guards, limits, once }: Services) {
  const sql = database.chores
  const signedIn = async (account: Account, status: number) => {
    const claims = await tokens.issue(account.id, account.tokenVersion)
    return { status, claims, body: { user: userView(account) } }
  }

  /** Nobody is signed in yet: an Idempotency-Key is the email address's. */
  const by = (address: string, email: string) => ({
    scope: `email:${email}`,
    guess: (isRight: () => Promise<boolean>) => limits.guess({ address, email }, isRight),
  })

  return new Elysia({ prefix: '/auth' })
    .use(guards.signIn)
    .post(
      '/register',
      ({ address, body, request }) => {
        const email = normalEmail(body.email)
        return once(request, by(address, email), body, async (keep) => {
          if (await accountByEmail(sql, email)) throw conflict(registered)
          const passwordHash = await passwords.hash(body.password)
          const account = { id: newId(), name: body.name.trim(), email, passwordHash, tokenVersion: 0 }
          const draft = await signedIn(account, 201)
          if (!(await insertAccount(sql, account, keep(draft)))) throw conflict(registered)
          return draft
        })
      },
      {
        jsonBody: true,
        body: RegisterBody,
        ...operation({
          tag,
          summary: 'Register an account',
          description: 'An Idempotency-Key holds for the email address.',
          answers: { status: 201, schema: SignedInView, description: 'Registered and signed in' },
          refuses: [400, 409, 413, 415, 422],
          open: true,
        }),
      },
    )
    .post(
      '/login',
      ({ address, body, request }) => {
        const email = normalEmail(body.email).replaceAll('\0', '')
        const asked = by(address, email)
        return once(request, asked, body, async (keep) => {
          const account = await accountByEmail(sql, email)
          const isRight = () => passwords.matches(body.password, account?.passwordHash)
          if (!(await asked.guess(isRight)) || !account) {
            throw unauthorized('Wrong email or password')
          }
          const draft = await signedIn(account, 200)
          const kept = keep(draft)
          if (kept) await keepAnswer(sql, kept)
          return draft
        })
      },
      {
        jsonBody: true,
        body: LoginBody,
        ...operation({
          tag,
          summary: 'Sign in',
          answers: { status: 200, schema: SignedInView, description: 'Signed in' },
          refuses: [400, 401, 413, 415, 422],
          open: true,
        }),
      },
    )
}
