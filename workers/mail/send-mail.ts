import { createTransport } from 'nodemailer'
import { type Account, accountByEmail, accountById } from '../../modules/accounts/queries.ts'
import type { MailPurpose } from '../../src/jobs/queue.ts'
import type { Sql } from '../../src/postgres/database.ts'
import type { Services } from '../../src/services.ts'
import { reasonOf } from '../reason.ts'
import { lifetimeMinutes, mailOf } from './text.ts'

const sendTimeoutMs = 30_000
const connectTimeoutMs = 10_000

/**
 * Sends nothing if the account does not exist or the token has expired. If the mail server rejects the recipient
 * permanently, only logs this, because a retry cannot help.
 */
export function openSendMail({ config, database: { background: sql }, log, mailTokens }: Services) {
  const { smtpUrl, mailFrom } = config
  const transport = smtpUrl
    ? createTransport({
        url: smtpUrl,
        connectionTimeout: connectTimeoutMs,
        greetingTimeout: connectTimeoutMs,
        socketTimeout: sendTimeoutMs,
        disableFileAccess: true,
        disableUrlAccess: true,
      })
    : undefined

  return async ({ id = '', purpose, userId, email }: Record<string, string>): Promise<void> => {
    if (!transport) throw new Error('SMTP_URL is not set for this worker')
    const account = userId ? await accountById(sql, userId) : await accountByEmail(sql, email ?? '')
    const mail = { id, purpose: purpose as MailPurpose }
    if (!account || !isFor(mail.purpose, account) || !(await storeToken(sql, mail, account))) return
    const message = {
      ...mailOf(mail.purpose, mailTokens.tokenOf(id), config),
      ...{ from: mailFrom, to: { name: '', address: account.email } },
      messageId: messageIdOf(id, mailFrom.address),
    }
    try {
      await transport.sendMail({ ...message, signal: AbortSignal.timeout(sendTimeoutMs) })
    } catch (error) {
      if (!isRejected(error)) throw error
      log.warn({ job: id, reason: reasonOf(error) }, 'mail rejected by the mail server')
    }
  }
}

/** Each attempt has the same message id, so that mail clients recognize a mail that arrives twice. */
const messageIdOf = (id: string, sender: string) => `<${id}${sender.slice(sender.lastIndexOf('@'))}>`

const isFor = (purpose: MailPurpose, { emailVerified }: Account): boolean =>
  emailVerified === (purpose === 'reset')

/** The lifetime of the token begins when the job is created. Returns false if the token was used or has expired. */
async function storeToken(sql: Sql, { id, purpose }: { id: string; purpose: MailPurpose }, account: Account) {
  await sql`
    insert into mail_tokens (id, user_id, purpose, email, version, expires_at)
    select ${id}::uuid, u.id, ${purpose}, u.email, u.token_version,
      o.created_at + ${lifetimeMinutes[purpose]}::int4 * interval '1 minute'
    from users u, outbox o where u.id = ${account.id} and o.id = ${id} on conflict (id) do nothing`
  const valid = await sql`
    select from mail_tokens where id = ${id} and email = ${account.email} and used_at is null and expires_at > now()`
  return valid.length === 1
}

/** True if the mail server answered RCPT TO with 5xx, or if the address is invalid. */
function isRejected(error: unknown): boolean {
  const { code, command, responseCode } = error as { code?: string; command?: string; responseCode?: number }
  if (responseCode === undefined) return code === 'EENVELOPE'
  return command === 'RCPT TO' && responseCode >= 500
}
