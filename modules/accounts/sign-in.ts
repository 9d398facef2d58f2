import { accountCommand, type RouteRequest } from '../../src/commands/command.ts'
import { signInBodyBytes, tooLarge } from '../../src/http/json-body.ts'
import { tooCommon } from '../../src/identity/passwords.ts'
import { newId } from '../../src/ids.ts'
import { mailJob } from '../../src/jobs/queue.ts'
import { Body, Email, Name, normalEmail, AnyText } from '../../src/schema/input.ts'
import { named } from '../../src/schema/response.ts'
import type { Services } from '../../src/services.ts'
import type { Registration } from '../../src/setting-values.ts'
import { conflict, forbidden, unauthorized } from '../../src/responses/errors.ts'
import { type Account, accountByEmail, insertAccount, storeRecord } from './queries.ts'
import { signedInView } from './schema.ts'
import { accountView, Password, withOperation } from './user.ts'

export const RegisterBody = named(
  'Register',
  Body({ name: Name(200, 'Ada Lovelace'), email: Email(), password: Password }, accountView.schema),
)

/** Accepts any strings, so that a malformed address gets 401, like any unknown address. */
const LoginBody = named(
  'Login',
  Body(
    {
      email: AnyText(1024, 'A text, the registered email address', 'ada@example.com'),
      password: AnyText(1024, 'A text, the password', 'correct horse battery'),
    },
    accountView.schema,
  ),
)

const emailTaken = () => conflict('This email address is registered already')
const registrationClosed = () =>
  forbidden('Registration is closed: ask the operator of this service for an account')
const otherDomain = (domains: string[]) =>
  forbidden(`Registration accepts only addresses of ${domains.join(', ')}`)

const openCommand = (id: string) =>
  ({
    ...withOperation(id),
    about: 'The same Idempotency-Key may be used for different email addresses.',
    callers: 'anyone',
    view: signedInView,
  }) as const

function requireRegistration(registration: Registration, email: string): void {
  if (registration === 'open') return
  if (registration === 'closed') throw registrationClosed()
  if (!registration.includes(email.slice(email.lastIndexOf('@') + 1))) throw otherDomain(registration)
}

/** Returns undefined if the service sends no mail, or if the address has reached its hourly limit. */
const verificationJob = async ({ config, limits }: Services, { id, email }: Account) => {
  const send = () => mailJob('verify', { userId: id })
  return config.smtpUrl ? limits.takeMail(email).then(send, () => undefined) : undefined
}

export const register = (services: Services) =>
  accountCommand('account.register', {
    ...openCommand('register'),
    input: RegisterBody,
    begin({ address }: RouteRequest<'address'>, { name, email: enteredEmail, password }) {
      const { config, database, jobs, newPasswords, passwords, tokens } = services
      const email = normalEmail(enteredEmail)
      requireRegistration(config.registration, email)
      return {
        scope: `email:${email}`,
        account: email,
        async admit() {
          newPasswords.require(password)
          if (await accountByEmail(database.background, email)) throw emailTaken()
        },
        async execute(toRecord) {
          const passwordHash = await passwords.hash(password, address)
          const identity = { id: newId(), name: name.trim(), email }
          const account = { ...identity, passwordHash, tokenVersion: 0, emailVerified: false }
          const row = { account, claims: await tokens.issue(account.id, 0) }
          const job = await verificationJob(services, account)
          if (!(await insertAccount(database.background, account, { record: toRecord(row), job })))
            throw emailTaken()
          if (job) void jobs.enqueue([job])
          return row
        },
      }
    },
    status: 201,
    location: () => '/auth/me',
    errors: [tooCommon(), registrationClosed(), emailTaken(), tooLarge(signInBodyBytes)],
  })

const wrongCredentials = () => unauthorized('Wrong email or password')

export const login = ({ database, limits, passwords, tokens }: Services) =>
  accountCommand('account.login', {
    ...openCommand('login'),
    input: LoginBody,
    begin({ address }: RouteRequest<'address'>, { email: enteredEmail, password }) {
      const email = normalEmail(enteredEmail).replaceAll('\0', '')
      let account: Account | undefined
      return {
        scope: `email:${email}`,
        account: email,
        async admit() {
          account = await accountByEmail(database.background, email)
          const isRight = () => passwords.matches(password, account?.passwordHash, address)
          const guess = { address, email, accountId: account?.id }
          if (!(await limits.checkPassword(guess, isRight)) || !account) throw wrongCredentials()
        },
        async execute(toRecord) {
          const { id, tokenVersion } = account!
          const row = { account: account!, claims: await tokens.issue(id, tokenVersion) }
          await storeRecord(database.background, toRecord(row))
          return row
        },
      }
    },
    does: 'add',
    errors: [wrongCredentials(), tooLarge(signInBodyBytes)],
  })
