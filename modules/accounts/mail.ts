import { accountCommand, type ToRecord, type RouteRequest } from '../../src/commands/command.ts'
import type { IdempotencyRecord } from '../../src/commit/idempotency.ts'
import { signInBodyBytes, tooLarge } from '../../src/http/json-body.ts'
import { tooCommon } from '../../src/identity/passwords.ts'
import { mailJob, type OutboxJob, type MailPurpose } from '../../src/jobs/queue.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { retryOnce } from '../../src/postgres/errors.ts'
import { badRequest, invalidToken, conflict } from '../../src/responses/errors.ts'
import { Input, Email, normalEmail, AnyText } from '../../src/schema/input.ts'
import type { Services } from '../../src/services.ts'
import { accountById, deleteOldTokens, writeOnce } from './queries.ts'
import { Password, withOperation } from './user.ts'

const noMail = () => conflict('This service sends no mail: its operator has not set SMTP_URL')
const isVerified = () => conflict('This email address is verified already')
const badMailToken = () =>
  badRequest('token must be an unused, unexpired token from a mail: request another mail')

const Token = AnyText(1024, 'A text, the token from the mail', 'AZorPE1ef2CKmwwdLj9KWzN2p0kYH3f6c1l0b5x8QdE')

const open = { callers: 'anyone', does: 'add' } as const

function requireMail({ config }: Services): void {
  if (!config.smtpUrl) throw noMail()
}

function requireMailId(services: Services, token: string): string {
  requireMail(services)
  const id = services.mailTokens.idIn(token)
  if (id === null) throw badMailToken()
  return id
}

export const verify = (services: Services) =>
  accountCommand('email.verify', {
    ...withOperation('verifyEmail'),
    ...open,
    about:
      'Registration and `POST /auth/email/resend` send the mail with the token. The token is valid once, within 24 hours.',
    input: Input({ token: Token }),
    begin(_: RouteRequest<'address'>, { token }) {
      const id = requireMailId(services, token)
      return {
        scope: `mail:${id}`,
        async execute(toRecord) {
          if (!(await verifyEmail(services.database.background, id, toRecord()))) throw badMailToken()
        },
      }
    },
    message: 'Email address verified successfully',
    errors: [badMailToken(), noMail(), tooLarge(signInBodyBytes)],
  })

export const resendVerification = (services: Services) =>
  accountCommand('email.resend', {
    ...withOperation('resendVerification'),
    about: "Sends a mail to the caller's address. The number of mails to one address in an hour is limited.",
    input: Input({}),
    begin: ({ claims }: RouteRequest<'claims'>) => ({
      async execute(toRecord) {
        requireMail(services)
        const account = await accountById(services.database.background, claims.userId)
        if (!account) throw invalidToken()
        if (account.emailVerified) throw isVerified()
        await queueMail(services, account.email, mailJob('verify', { userId: account.id }), toRecord)
      },
    }),
    message: 'A mail will be sent',
    status: 202,
    does: 'add',
    errors: [noMail(), isVerified()],
  })

/** Queues a job for every address, so that neither the response nor its time shows whether an account exists. */
export const forgotPassword = (services: Services) =>
  accountCommand('password.forgot', {
    ...withOperation('forgotPassword'),
    ...open,
    about:
      'The response is the same for every address. Only the verified address of an account gets a mail. The number of mails to one address in an hour is limited.',
    input: Input({ email: Email() }),
    begin(_: RouteRequest<'address'>, { email: address }) {
      requireMail(services)
      const email = normalEmail(address)
      return {
        scope: `forgot:${email}`,
        execute: (toRecord) => queueMail(services, email, mailJob('reset', { email }), toRecord),
      }
    },
    message: 'A mail will be sent if this address is verified',
    status: 202,
    errors: [noMail(), tooLarge(signInBodyBytes)],
  })

async function queueMail(
  { database, jobs, limits }: Services,
  email: string,
  job: OutboxJob,
  toRecord: ToRecord<void>,
) {
  await limits.takeMail(email)
  const sql = database.background
  const written = sql`select from outbox where id = ${job.id}`
  await writeOnce(sql, sql`done as (select)`, written, { job, record: toRecord() })
  void jobs.enqueue([job])
}

export const reset = (services: Services) =>
  accountCommand('password.reset', {
    ...withOperation('resetPassword'),
    ...open,
    about:
      'Sets a new password with the token from the mail, and revokes every token of the account, including API tokens. The token from the mail is valid once, within 30 minutes.',
    input: Input({ token: Token, password: Password }),
    begin({ address }: RouteRequest<'address'>, { token, password }) {
      const { authenticate, database, newPasswords, passwords } = services
      const id = requireMailId(services, token)
      const scope = `mail:${id}`
      let userId: string | undefined
      return {
        scope,
        async admit() {
          newPasswords.require(password)
          userId = await accountOfResetToken(database.background, id)
          if (userId === undefined) throw badMailToken()
        },
        async execute(toRecord) {
          const passwordHash = await passwords.hash(password, address)
          const isReset = await resetPassword(database.background, id, passwordHash, toRecord())
          authenticate.invalidate(userId!)
          if (!isReset) throw badMailToken()
        },
      }
    },
    message: 'Password set successfully',
    errors: [badMailToken(), tooCommon(), noMail(), tooLarge(signInBodyBytes)],
  })

/** SQL: mail token `t` is valid; user `u` still has the same address, and for a reset the same token version. */
const isValid = (sql: Sql, id: string, purpose: MailPurpose) => sql`
  t.id = ${id} and t.purpose = ${purpose} and t.used_at is null and t.expires_at > now()
    and u.id = t.user_id and u.email = t.email and (t.purpose = 'verify' or u.token_version = t.version)`

/** Returns false for an invalid token. */
async function verifyEmail(sql: Sql, id: string, record?: IdempotencyRecord): Promise<boolean> {
  const verify = sql`
    token as (update mail_tokens t set used_at = now() from users u
      where ${isValid(sql, id, 'verify')} returning t.user_id, t.email),
    done as (update users u set email_verified_at = coalesce(u.email_verified_at, now()) from token
      where u.id = token.user_id and u.email = token.email returning u.id)`
  const written = sql`select from mail_tokens where id = ${id} and used_at is not null`
  return writeOnce(sql, verify, written, { record })
}

async function accountOfResetToken(sql: Sql, id: string): Promise<string | undefined> {
  const find = () =>
    sql<{ id: string }[]>`select u.id from mail_tokens t, users u where ${isValid(sql, id, 'reset')}`
  return (await retryOnce(find))[0]?.id
}

/** Also revokes all tokens of the account. Returns false for an invalid mail token. */
async function resetPassword(
  sql: Sql,
  id: string,
  passwordHash: string,
  record?: IdempotencyRecord,
): Promise<boolean> {
  const reset = sql`
    token as (update mail_tokens t set used_at = now() from users u
      where ${isValid(sql, id, 'reset')} returning t.user_id, t.version),
    done as (update users u set password_hash = ${passwordHash}, token_version = u.token_version + 1 from token
      where u.id = token.user_id and u.token_version = token.version returning u.id, u.token_version as version),
    revoked as (${deleteOldTokens(sql, sql`done.version`)})`
  return writeOnce(sql, reset, sql`select from users where password_hash = ${passwordHash}`, { record })
}
