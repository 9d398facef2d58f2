import type { Static } from '@sinclair/typebox'
import { normalEmail } from '../../src/schema/text.ts'
import type { Services } from '../../src/services.ts'
import { unauthorized } from '../../src/wire/refusals.ts'
import { type Account, accountByEmail, keepAnswer } from './queries.ts'
import { type LoginBody, accountView } from './user.ts'

/** A request of a caller without a token. */
export interface Stranger<Body> {
  request: Request
  address: string
  body: Body
}

export const wrong = () => unauthorized('Wrong email or password')

/** The answer to a caller who has just signed in. */
export async function signedIn({ tokens }: Pick<Services, 'tokens'>, account: Account, status: number) {
  const claims = await tokens.issue(account.id, account.tokenVersion)
  return { status, claims, body: { user: accountView(account) } }
}

/** Nobody is signed in yet: an Idempotency-Key is the email address's. */
export const keyOf = ({ limits }: Pick<Services, 'limits'>, address: string, email: string) => ({
  scope: `email:${email}`,
  guess: (isRight: () => Promise<boolean>) => limits.guess({ address, email }, isRight),
  source: { address, account: email },
  madeAt: () => '/auth/me',
})

export const openSignIn =
  (services: Services) =>
  ({ request, address, body }: Stranger<Static<typeof LoginBody>>) => {
    const { limits, once, passwords } = services
    const sql = services.database.chores
    const email = normalEmail(body.email).replaceAll('\0', '')
    const key = keyOf(services, address, email)
    let account: Account | undefined
    const admit = async () => {
      account = await accountByEmail(sql, email)
      const isRight = () => passwords.matches(body.password, account?.passwordHash, key.source)
      const who = { address, email, accountId: account?.id }
      if (!(await limits.guess(who, isRight)) || !account) throw wrong()
    }
    return once(request, { ...key, admit }, body, async (keep) => {
      const draft = await signedIn(services, account!, 200)
      await keepAnswer(sql, keep(draft))
      return draft
    })
  }
