import {
  eventually,
  expectError,
  expectResponse,
  expiresAt,
  forFile,
  invite,
  make,
  openScene,
} from '../kit.ts'
import { openTestService, readConfig, register, statuses, upTo } from '../kit.ts'
import { testSessions } from '../support/http-sessions.ts'
import { openSilentServer } from '../support/mail.ts'
import { untilOutboxEmpty } from '../workers/remains.ts'
import { forgetting, notValid, openMailScene, resetting, resetToken, verified, verifying } from './scene.ts'

const scene = await forFile(openMailScene({ MAILS_PER_HOUR: '6' }))
const { client, server, sql } = scene

// `mail ADDRESS N` waits for the n-th mail to an address, and prints its subject. `$token` is the token in this mail.
testSessions('test/mail/sessions', () => {
  const values = { token: '', tomorrow: expiresAt }
  const commands = {
    async mail(words: string) {
      const [address = '', n = '1'] = words.split(' ')
      const { subject, token } = await server.mail(address, Number(n))
      values.token = token
      return subject
    },
  }
  return { client, sql, values, commands }
})

const mail = { MAIL_FROM: 'Docket <docket@example.com>', PUBLIC_URL: 'https://tracker.example.com/app/' }
const settings: [env: Record<string, string>, from: RegExp, verify: RegExp, reset: RegExp][] = [
  [
    { BASE_PATH: '/docket' },
    /@/,
    /^to POST \/docket\/api\/v1\/auth\/email\/verify within 24 hours:$/m,
    /^to POST \/docket\/api\/v1\/auth\/password\/reset within 30 minutes:$/m,
  ],
  [
    mail,
    /^"Docket" <docket@example.com>$/,
    /^https:\/\/tracker.example.com\/app\/verify-email#token=[\w-]{43}$/m,
    /^https:\/\/tracker.example.com\/app\/reset-password#token=[\w-]{43}$/m,
  ],
]

test.each(settings)(
  'with %p, a mail is plain text with a token for one recipient',
  async (env, sender, verify, reset) => {
    await using scene = await openMailScene(env)
    const ada = await verified(scene, 'Ada Bcc: eve@example.com <b>')
    await forgetting(scene.client, ada.email)
    const [first, second] = [await scene.server.mail(ada.email), await scene.server.mail(ada.email, 2)]
    expect([first.subject, second.subject]).toEqual(['Verify your email address', 'Reset your password'])
    expect(second.messageId).not.toBe(first.messageId)
    expect([first.text, second.text]).toEqual([expect.stringMatching(verify), expect.stringMatching(reset)])
    for (const { from, to, source, headers, text, token } of [first, second]) {
      expect([from, to]).toEqual([expect.stringMatching(sender), ada.email])
      expect(source).not.toMatch(/Bcc:|eve@|\bAda\b|html|multipart/i)
      expect(headers).toContainEqual(['auto-submitted', 'auto-generated'])
      expect(headers).toContainEqual(['content-type', 'text/plain; charset=utf-8'])
      expect(text.match(/http.*/g) ?? []).toEqual(
        env.PUBLIC_URL ? [expect.stringContaining(`#token=${token}`)] : [],
      )
    }
  },
)

test('deleting an account deletes its mail tokens, and registering again does not raise the mail limit of the address', async () => {
  const email = 'again@example.com'
  for (const n of upTo(7)) {
    const { body } = await client.post('/auth/register', { name: 'Ada', email, password: 'secret-1' })
    if (n <= 6) await server.mail(email, n)
    const deleted = await client.as(body.access_token).delete('/auth/me')
    expectResponse(deleted, 200, { message: 'Account deleted successfully' })
  }
  expect(await sql`select from mail_tokens where email = ${email}`).toHaveLength(0)
  await verified(scene)
  expect(server.to(email)).toHaveLength(6)
})

test('without SMTP_URL the mail routes respond with 409, and unverified addresses can be invited', async () => {
  await using without = await openTestService()
  const [ada, grace] = [await register(without.client), await register(without.client)]
  const token = 'x'.repeat(43)
  for (const answer of [
    await verifying(without.client, token),
    await ada.post('/auth/email/resend'),
    await forgetting(without.client, ada.email),
    await resetting(without.client, token, 'secret-2'),
  ])
    expectError(answer, 409, 'This service sends no mail: its operator has not set SMTP_URL')
  expect(await without.services.database.background`select from outbox`).toHaveLength(0)
  const { id } = await make(ada, '/projects', { name: 'P' })
  expect((await invite(ada, id, grace)).userId as unknown).toBe(grace.id)
})

test('retries a mail that the server deferred, with the same token, and drops a mail that the server rejected', async () => {
  const rejections: Record<number, number> = { 451: 3, 550: 1 }
  for (const [status, attempts] of Object.entries(rejections)) {
    const reject = (_: string, attempt: number) =>
      status === '451' && attempt === 3 ? undefined : Number(status)
    await using scene = await openMailScene({ LOG_LEVEL: 'silent' }, { reject })
    const { email, id } = await register(scene.client)
    await scene.server.attempted(email, attempts)
    await untilOutboxEmpty(scene.sql)
    expect(scene.server.attempts).toEqual(Array(attempts).fill(email))
    expect(scene.server.mails).toHaveLength(status === '451' ? 1 : 0)
    expect(await scene.sql`select from mail_tokens where user_id = ${id}`).toHaveLength(1)
  }
})

test('a mail server that does not respond does not block other jobs', async () => {
  const silent = await forFile(openSilentServer())
  const env = { SMTP_URL: silent.url, JOB_CONCURRENCY: '1', LOG_LEVEL: 'silent' }
  const { service, client, sql } = await openScene([], env)
  service.startWorkers()
  const ada = await register(client)
  await silent.connected
  const { id } = await make(ada, '/projects', { name: 'P' })
  await ada.delete(`/projects/${id}`)
  const isPurged = async () => (await sql`select from streams where project_id = ${id}`).length === 0
  await eventually('the purge of the deleted project', isPurged)
  const mail = await sql`select attempts, error from outbox where name = 'send-mail'`
  expect(mail).toEqual([{ attempts: 1, error: null }] as never)
  silent.close()
})

test('does not send a mail whose token has expired', async () => {
  await using scene = await openMailScene({}, { isIdle: true })
  const [late, early] = [await register(scene.client), await register(scene.client)]
  for (const [{ id }, hours] of [
    [late, 24],
    [early, 23],
  ] as const)
    await scene.sql`update outbox set created_at = now() - ${hours}::int4 * interval '1 hour' where data ->> 'userId' = ${id}`
  scene.service.startWorkers()
  await untilOutboxEmpty(scene.sql)
  expect(scene.server.attempts).toEqual([early.email])
})

test('MAIL_FROM must be a single address, with or without a name, and URLs must have a scheme', () => {
  const read = (MAIL_FROM: string) => readConfig({ MAIL_FROM }).mailFrom
  expect(read('Docket <docket@example.com>')).toEqual({ name: 'Docket', address: 'docket@example.com' })
  expect(read('docket@localhost')).toEqual({ name: '', address: 'docket@localhost' })
  for (const wrong of ['docket', 'a@b\r\nBcc: c@d', 'a@b, c@d', 'A <a@b> <c@d>', '<a@b'])
    expect(() => read(wrong)).toThrow(/^MAIL_FROM must be an address such as /)
  expect(() => readConfig({ SMTP_URL: 'http://mail' })).toThrow(/^SMTP_URL must be a URL starting with smtp:/)
  expect(() => readConfig({ PUBLIC_URL: 'tracker' })).toThrow(/^PUBLIC_URL must be a URL starting with http/)
})

test('exactly one of many concurrent resets with the same token sets the password', async () => {
  const ada = await verified(scene)
  const token = await resetToken(scene, ada)
  const answers = await Promise.all(upTo(6).map((n) => resetting(client, token, `secret-1${n}`)))
  expect(statuses(answers)).toEqual({ 200: 1, 400: 5 })
  const won = answers.findIndex(({ status }) => status === 200)
  const password = `secret-1${won + 1}`
  expect((await client.post('/auth/login', { email: ada.email, password })).status).toBe(200)
  expectError(await resetting(client, token, 'secret-9'), 400, notValid)
})

test('verified, unverified and unknown addresses get the same response after the same number of queries', async () => {
  await using idle = await openMailScene({ MAILS_PER_HOUR: '20' }, { isIdle: true })
  const [known, unverified] = [await register(idle.client), await register(idle.client)]
  await idle.sql`delete from outbox`
  await idle.sql`update users set email_verified_at = now() where id = ${known.id}`
  const total = () => idle.service.services.counts.queries.background.total
  /** Of several requests, the least queries: others may run at the same time. */
  const responseTo = async (email: string) => {
    const answers = []
    for (const _ of upTo(3)) {
      const before = total()
      const { status, body, headers } = await forgetting(idle.client, email)
      answers.push({ status, body, names: [...headers.keys()].sort(), queries: total() - before })
    }
    return answers.toSorted((a, b) => a.queries - b.queries)[0]!
  }
  const answer = await responseTo(known.email)
  const sent = { message: 'A mail will be sent if this address is verified' }
  expect([answer.status, answer.body as unknown]).toEqual([202, sent])
  for (const email of [unverified.email, 'nobody@example.com'])
    expect(await responseTo(email)).toEqual(answer)
  expect(await idle.sql`select from outbox`).toHaveLength(9)
  idle.service.startWorkers()
  await untilOutboxEmpty(idle.sql)
  expect(idle.server.attempts).toEqual(Array(3).fill(known.email))
  expectError(await forgetting(idle.client, 'nobody'), 400, /^email must be /)
})

test('limits the mails per hour to an address, whether or not it has an account, and applies the password policy to a reset', async () => {
  const policy = { PASSWORD_MIN_CHARACTERS: '12', PASSWORD_REJECT_COMMON: 'on', MAILS_PER_HOUR: '2' }
  await using strict = await openMailScene(policy)
  const account = { name: 'A', email: 'strict@example.com', password: 'a plate of brass' }
  await strict.client.post('/auth/register', account)
  await verifying(strict.client, (await strict.server.mail(account.email)).token)
  const statusesFor = async (email: string) => {
    const found: number[] = []
    for (const _ of upTo(3)) found.push((await forgetting(strict.client, email)).status)
    return found
  }
  expect(await statusesFor('nobody@example.com')).toEqual([202, 202, 429])
  expect(await statusesFor(account.email.toUpperCase())).toEqual([202, 429, 429])
  const { token } = await strict.server.mail(account.email, 2)
  for (const [password, message] of [
    ['too short', /^password must be a password of 12 to 1024 characters$/],
    ['1QAZ2wsx3edc', /most common/],
  ] as const)
    expectError(await resetting(strict.client, token, password), 400, message)
  expect((await resetting(strict.client, token, 'another plate of brass')).status).toBe(200)
})

test('a mail token stays valid while JWT_SECRET contains the secret that signed it', async () => {
  const [first, second, third] = ['x', 'y', 'z'].map((one) => one.repeat(32))
  await using scene = await openMailScene({ JWT_SECRET: first! })
  const token = await resetToken(scene, await verified(scene))
  const { DATABASE_URL = '', SMTP_URL = '' } = scene.service.env
  for (const [JWT_SECRET, status] of [
    [third!, 400],
    [`${second},${first}`, 200],
  ] as const) {
    await using other = await openTestService({ DATABASE_URL, JWT_SECRET, SMTP_URL })
    expect((await resetting(other.client, token, 'secret-2')).status).toBe(status)
  }
})
