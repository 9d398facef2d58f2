import { createTransport } from 'nodemailer'
import { type Account, accountByEmail, accountById } from '../../modules/accounts/queries.ts'
import type { Config } from '../../src/config.ts'
import type { MailPurpose } from '../../src/jobs/queue.ts'
import type { Sql } from '../../src/postgres/database.ts'
import type { Services } from '../../src/services.ts'
import { reasonOf } from '../throttle.ts'

const sendTimeoutMs = 30_000
const connectTimeoutMs = 10_000

/** Sends nothing without an account or a valid token. If the mail server rejects the recipient permanently, no retry can help. */
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
    if (account?.emailVerified !== (purpose === 'reset') || !(await storeToken(sql, mail, account))) return
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

/** The lifetime of the token begins when the job is created. Returns false if the token was used or has expired. */
async function storeToken(sql: Sql, { id, purpose }: { id: string; purpose: MailPurpose }, account: Account) {
  await sql`
    insert into mail_tokens (id, user_id, purpose, email, version, expires_at)
    select ${id}::uuid, u.id, ${purpose}, u.email, u.token_version,
      o.created_at + ${texts[purpose].minutes}::int4 * interval '1 minute'
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

const texts = {
  verify: {
    subject: 'Verify your email address',
    why: 'An account at Docket was registered with this email address.\nTo verify that the address is yours',
    page: 'verify-email',
    path: '/auth/email/verify',
    minutes: 1_440,
    lifetime: '24 hours',
    otherwise: 'If you did not register, ignore this mail and do not use the token.',
  },
  reset: {
    subject: 'Reset your password',
    why: 'Somebody asked to set a new password for your account at Docket.\nTo set it',
    page: 'reset-password',
    path: '/auth/password/reset',
    minutes: 30,
    lifetime: '30 minutes',
    otherwise: 'If you did not ask, ignore this mail: your password does not change.',
  },
}

/** Contains no text from callers. In the link, the token is in the fragment, which browsers do not send. */
export function mailOf(
  purpose: MailPurpose,
  token: string,
  { publicUrl, basePath }: Pick<Config, 'publicUrl' | 'basePath'>,
) {
  const { subject, why, page, path, lifetime, otherwise } = texts[purpose]
  const link = publicUrl && `${publicUrl.replace(/\/+$/, '')}/${page}#token=${token}`
  const lines = [
    ...(link ? [`${why}, open`, '', link, '', 'or send this token'] : [`${why}, send this token`]),
    ...[`to POST ${basePath}/api/v1${path} within ${lifetime}:`, '', token, '', otherwise, ''],
  ]
  return { subject, text: lines.join('\n'), headers: { 'Auto-Submitted': 'auto-generated' } }
}
