import type { Static } from '@sinclair/typebox'
import { mailJob } from '../../src/jobs/mail-job.ts'
import { normalEmail } from '../../src/schema/text.ts'
import type { Services } from '../../src/services.ts'
import { accountById } from '../accounts/queries.ts'
import type { Me, RunAsMe } from '../accounts/own-account.ts'
import { badToken } from '../../src/wire/refusals.ts'
import { badMailToken, isVerified, noMail } from './operations.ts'
import { holderOfReset, oweMail, resetPassword, verifyEmail } from './queries.ts'
import { type ForgotBody, messages, type ResetBody, type VerifyBody } from './schema.ts'

/** A request that needs no sign-in. */
interface Open<Body> {
  request: Request
  address: string
  body: Body
}

/** The requests behind mails: verify an address, and set a forgotten password. */
export function openMailWork(services: Services, asMe: RunAsMe) {
  return {
    verify: (asked: Open<Static<typeof VerifyBody>>) => verify(services, asked),
    resend: (me: Me) => resend(services, me, asMe),
    forgot: (asked: Open<Static<typeof ForgotBody>>) => forgot(services, asked),
    reset: (asked: Open<Static<typeof ResetBody>>) => reset(services, asked),
  }
}

/** @throws Refusal 409 */
function requireMail({ config }: Services): void {
  if (!config.smtpUrl) throw noMail()
}

/** @throws Refusal 400 for a token that this service has not made */
function idIn({ mailTokens }: Services, token: string): string {
  const id = mailTokens.idIn(token)
  if (id === null) throw badMailToken()
  return id
}

/** An Idempotency-Key of a caller without a sign-in is the token's or the address's. */
const keyOf = ({ limits }: Services, address: string, scope: string) => ({
  scope,
  guess: (isRight: () => Promise<boolean>) => limits.guess({ address, email: scope }, isRight),
  source: { address, account: scope },
  madeAt: () => '/auth/me',
})

async function verify(services: Services, { request, address, body }: Open<Static<typeof VerifyBody>>) {
  requireMail(services)
  const id = idIn(services, body.token)
  return services.once(request, keyOf(services, address, `mail:${id}`), body, async (keep) => {
    const draft = { status: 200, body: { message: messages.verified } }
    if (!(await verifyEmail(services.database.chores, id, keep(draft)))) throw badMailToken()
    return draft
  })
}

function resend(services: Services, me: Me, asMe: RunAsMe) {
  const { database, jobs, limits } = services
  return asMe(me, null, async (keep) => {
    requireMail(services)
    const account = await accountById(database.chores, me.claims.userId)
    if (!account) throw badToken()
    if (account.emailVerified) throw isVerified()
    await limits.mail(account.email)
    const draft = { status: 202, body: { message: messages.resent } }
    const job = mailJob('verify', { userId: account.id })
    await oweMail(database.chores, job, keep(draft))
    void jobs.handOver([job])
    return draft
  })
}

/**
 * Owes a mail whatever the address, so that neither the answer nor its time says whether the address has an account: the
 * worker finds that out.
 */
async function forgot(services: Services, { request, address, body }: Open<Static<typeof ForgotBody>>) {
  requireMail(services)
  const { database, jobs, limits, once } = services
  const email = normalEmail(body.email)
  return once(request, keyOf(services, address, `forgot:${email}`), body, async (keep) => {
    await limits.mail(email)
    const draft = { status: 202, body: { message: messages.forgotten } }
    const job = mailJob('reset', { email })
    await oweMail(database.chores, job, keep(draft))
    void jobs.handOver([job])
    return draft
  })
}

/** The token is checked before the password is hashed: a wrong one costs no hash. */
async function reset(services: Services, { request, address, body }: Open<Static<typeof ResetBody>>) {
  requireMail(services)
  const { authenticate, database, newPasswords, once, passwords } = services
  const id = idIn(services, body.token)
  const key = keyOf(services, address, `mail:${id}`)
  let userId: string | undefined
  const admit = async () => {
    newPasswords.require(body.password)
    userId = await holderOfReset(database.chores, id)
    if (userId === undefined) throw badMailToken()
  }
  return once(request, { ...key, admit }, body, async (keep) => {
    const passwordHash = await passwords.hash(body.password, key.source)
    const draft = { status: 200, body: { message: messages.reset } }
    const isReset = await resetPassword(database.chores, { id, passwordHash }, keep(draft))
    authenticate.changed(userId!)
    if (!isReset) throw badMailToken()
    return draft
  })
}
