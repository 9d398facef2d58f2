import type { Static } from '@sinclair/typebox'
import { conflict, unauthorized } from '../../src/wire/refusals.ts'
import { newId } from '../../src/ids.ts'
import { normalEmail } from '../../src/schema/text.ts'
import type { Services } from '../../src/services.ts'
import { type Account, accountByEmail, insertAccount, keepAnswer } from './queries.ts'
import { type LoginBody, type RegisterBody, userView } from './user.ts'

interface Stranger<Body> {
  request: Request
  address: string
  body: Body
}

export const registered = () => conflict('This email address is registered already')
export const wrong = () => unauthorized('Wrong email or password')

/** The ways to a token for who has none. */
export function openSignIn({ database: { chores: sql }, tokens, passwords, limits, once }: Services) {
  const signedIn = async (account: Account, status: number) => {
    const claims = await tokens.issue(account.id, account.tokenVersion)
    return { status, claims, body: { user: userView(account) } }
  }
  /** Nobody is signed in yet: an Idempotency-Key is the email address's. */
  const by = (address: string, email: string) => ({
    scope: `email:${email}`,
    guess: (isRight: () => Promise<boolean>) => limits.guess({ address, email }, isRight),
    madeAt: () => '/auth/me',
  })

  return {
    register({ request, address, body }: Stranger<Static<typeof RegisterBody>>) {
      const email = normalEmail(body.email)
      return once(request, by(address, email), body, async (keep) => {
        if (await accountByEmail(sql, email)) throw registered()
        const passwordHash = await passwords.hash(body.password)
        const account = { id: newId(), name: body.name.trim(), email, passwordHash, tokenVersion: 0 }
        const draft = await signedIn(account, 201)
        if (!(await insertAccount(sql, account, keep(draft)))) throw registered()
        return draft
      })
    },

    signIn({ request, address, body }: Stranger<Static<typeof LoginBody>>) {
      const email = normalEmail(body.email).replaceAll('\0', '')
      const asked = by(address, email)
      return once(request, asked, body, async (keep) => {
        const account = await accountByEmail(sql, email)
        const isRight = () => passwords.matches(body.password, account?.passwordHash)
        if (!(await asked.guess(isRight)) || !account) throw wrong()
        const draft = await signedIn(account, 200)
        const kept = keep(draft)
        if (kept) await keepAnswer(sql, kept)
        return draft
      })
    },
  }
}
