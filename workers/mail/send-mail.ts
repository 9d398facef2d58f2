import { createTransport } from 'nodemailer'
import { type Account, accountByEmail, accountById } from '../../modules/accounts/queries.ts'
import type { Purpose } from '../../src/jobs/queue.ts'
import type { Sql } from '../../src/postgres/database.ts'
import type { Services } from '../../src/services.ts'
import { reasonOf } from '../reason.ts'
import { lifeMinutes, mailOf } from './text.ts'

/** How long the mail server may take for one mail, and to connect. */
const sendTimeoutMs = 30_000
const connectTimeoutMs = 10_000

/**
 * Opens the job that sends one mail. Run again, it sends the same token again. A mail to nobody, or whose token has expired
 * meanwhile, is not sent; one that the mail server rejects for good is given up with a log line.
 */
export function openSendMail({ config, database: { chores: sql }, log, mailTokens }: Services) {
  const { smtpUrl, mailFrom, publicUrl } = config
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
    const mail = { id, purpose: purpose as Purpose }
    if (!account || !isFor(mail.purpose, account) || !(await storeToken(sql, mail, account))) return
    const message = mailOf(mail.purpose, mailTokens.tokenOf(id), publicUrl)
    const to = { name: '', address: account.email }
    const signal = AbortSignal.timeout(sendTimeoutMs)
    try {
      await transport.sendMail({
        ...message,
        from: mailFrom,
        to,
        messageId: messageIdOf(id, mailFrom.address),
        signal,
      })
    } catch (error) {
      if (!isRejected(error)) throw error
      log.warn({ job: id, reason: reasonOf(error) }, 'mail rejected by the mail server')
    }
  }
}

/** The same for each attempt, so that a mail that arrives twice can be told to be one. */
const messageIdOf = (id: string, sender: string) => `<${id}${sender.slice(sender.lastIndexOf('@'))}>`

/** An address is verified once, and only a verified one may set the password. */
const isFor = (purpose: Purpose, { emailVerified }: Account): boolean =>
  emailVerified === (purpose === 'reset')

/**
 * Stores what the mail's token is good for; false when it was used or has expired. Its time begins when the mail was owed, so
 * that a job that was parked for long sends nothing.
 */
async function storeToken(sql: Sql, { id, purpose }: { id: string; purpose: Purpose }, account: Account) {
  await sql`
    insert into mail_tokens (id, user_id, purpose, email, version, expires_at)
    select ${id}::uuid, u.id, ${purpose}, u.email, u.token_version,
      o.created_at + ${lifeMinutes[purpose]}::int4 * interval '1 minute'
    from users u, outbox o where u.id = ${account.id} and o.id = ${id} on conflict (id) do nothing`
  const found = await sql`
    select from mail_tokens where id = ${id} and email = ${account.email} and used_at is null and expires_at > now()`
  return found.length === 1
}

/** True when the mail server will never take a mail for this recipient: a 5xx reply to it, or an address it cannot name. */
function isRejected(error: unknown): boolean {
  const { code, command, responseCode } = error as { code?: string; command?: string; responseCode?: number }
  if (responseCode === undefined) return code === 'EENVELOPE'
  return command === 'RCPT TO' && responseCode >= 500
}
