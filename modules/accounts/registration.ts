import type { Static } from '@sinclair/typebox'
import { newId } from '../../src/ids.ts'
import { mailJob } from '../../src/jobs/mail-job.ts'
import { normalEmail } from '../../src/schema/text.ts'
import type { Services } from '../../src/services.ts'
import type { Registration } from '../../src/setting-values.ts'
import { conflict, forbidden } from '../../src/wire/refusals.ts'
import { type Account, accountByEmail, insertAccount } from './queries.ts'
import { keyOf, signedIn, type Stranger } from './sign-in.ts'
import type { RegisterBody } from './user.ts'

export const registered = () => conflict('This email address is registered already')
export const closed = () =>
  forbidden('Registration is closed: ask the operator of this service for an account')
const otherDomain = (domains: string[]) => forbidden(`Registration takes addresses of ${domains.join(', ')}`)

/** @throws Refusal 403 */
function requireOpen(registration: Registration, email: string): void {
  if (registration === 'open') return
  if (registration === 'closed') throw closed()
  if (!registration.includes(email.slice(email.lastIndexOf('@') + 1))) throw otherDomain(registration)
}

/** The mail that verifies the address; none where the service sends no mail, or the address has had enough in this hour. */
const verificationFor = async ({ config, limits }: Services, { id, email }: Account) =>
  config.smtpUrl && (await limits.mayMail(email)) ? mailJob('verify', { userId: id }) : undefined

export const openRegister =
  (services: Services) =>
  async ({ request, address, body }: Stranger<Static<typeof RegisterBody>>) => {
    const { config, database, jobs, newPasswords, once, passwords } = services
    const sql = database.chores
    const email = normalEmail(body.email)
    requireOpen(config.registration, email)
    const key = keyOf(services, address, email)
    const admit = async () => {
      newPasswords.require(body.password)
      if (await accountByEmail(sql, email)) throw registered()
    }
    return once(request, { ...key, admit }, body, async (keep) => {
      const passwordHash = await passwords.hash(body.password, key.source)
      const named = { id: newId(), name: body.name.trim(), email }
      const account = { ...named, passwordHash, tokenVersion: 0, emailVerified: false }
      const draft = await signedIn(services, account, 201)
      const owed = await verificationFor(services, account)
      if (!(await insertAccount(sql, account, { kept: keep(draft), owed }))) throw registered()
      if (owed) void jobs.handOver([owed])
      return draft
    })
  }
