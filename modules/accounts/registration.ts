import { accountCommand, type Stranger } from '../../src/commands/command.ts'
import { openBodyBytes, tooLarge } from '../../src/http/json-body.ts'
import { tooCommon } from '../../src/identity/new-passwords.ts'
import { newId } from '../../src/ids.ts'
import { mailJob } from '../../src/jobs/queue.ts'
import { normalEmail } from '../../src/schema/text.ts'
import type { Services } from '../../src/services.ts'
import type { Registration } from '../../src/setting-values.ts'
import { conflict, forbidden } from '../../src/wire/refusals.ts'
import { type Account, accountByEmail, insertAccount } from './queries.ts'
import { signedInView } from './schema.ts'
import { RegisterBody } from './user.ts'

const registered = () => conflict('This email address is registered already')
const closed = () => forbidden('Registration is closed: ask the operator of this service for an account')
const otherDomain = (domains: string[]) => forbidden(`Registration takes addresses of ${domains.join(', ')}`)

/** @throws Refusal 403 */
function requireOpen(registration: Registration, email: string): void {
  if (registration === 'open') return
  if (registration === 'closed') throw closed()
  if (!registration.includes(email.slice(email.lastIndexOf('@') + 1))) throw otherDomain(registration)
}

/** The mail that verifies the address; none where the service sends no mail, or the address has had enough in this hour. */
const verificationFor = async ({ config, limits }: Services, { id, email }: Account) => {
  const send = () => mailJob('verify', { userId: id })
  return config.smtpUrl ? limits.mail(email).then(send, () => undefined) : undefined
}

export const register = (services: Services) =>
  accountCommand('account.register', {
    called: { id: 'register', tag: 'Authentication' },
    about: 'An Idempotency-Key holds for the email address.',
    input: RegisterBody,
    callers: 'anyone',
    begin({ address }: Stranger, { name, email: given, password }) {
      const { config, database, jobs, newPasswords, passwords, tokens } = services
      const email = normalEmail(given)
      requireOpen(config.registration, email)
      return {
        scope: `email:${email}`,
        account: email,
        async admit() {
          newPasswords.require(password)
          if (await accountByEmail(database.chores, email)) throw registered()
        },
        async execute(keep) {
          const passwordHash = await passwords.hash(password, { address, account: email })
          const named = { id: newId(), name: name.trim(), email }
          const account = { ...named, passwordHash, tokenVersion: 0, emailVerified: false }
          const row = { account, claims: await tokens.issue(account.id, 0) }
          const owed = await verificationFor(services, account)
          if (!(await insertAccount(database.chores, account, { kept: keep(row), owed }))) throw registered()
          if (owed) void jobs.handOver([owed])
          return row
        },
      }
    },
    shows: signedInView,
    status: 201,
    done: 'Registered and signed in',
    madeAt: () => '/auth/me',
    refuses: [tooCommon(), closed(), registered(), tooLarge(openBodyBytes)],
  })
