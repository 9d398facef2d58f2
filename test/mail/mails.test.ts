import { type Body, eventually, expectError, expectResponse, forFile, invite, make } from '../kit.ts'
import { openScene, openTestService, readConfig, register, statuses, upTo } from '../kit.ts'
import { openSilentServer } from '../support/mail.ts'
import { untilOutboxEmpty } from '../workers/remains.ts'
import { forgetting, notValid, openMailScene, resetting, verified, verifying } from './scene.ts'

const scene = await forFile(openMailScene({ MAILS_PER_HOUR: '3' }))
const { client, server, sql } = scene

const enrol = (email: string) => client.post('/auth/register', { name: 'Ada', email, password: 'secret-1' })
const isVerified = ({ user }: { user: Body }) => (user as unknown as { emailVerified: boolean }).emailVerified

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
      expect(source).not.toMatch(/Bcc|eve|Ada|html|multipart/i)
      expect(headers).toContainEqual(['auto-submitted', 'auto-generated'])
      expect(headers).toContainEqual(['content-type', 'text/plain; charset=utf-8'])
      expect(text.match(/http.*/g) ?? []).toEqual(
        env.PUBLIC_URL ? [expect.stringContaining(`#token=${token}`)] : [],
      )
    }
  },
)

test('registration sends a token that verifies the address', async () => {
  const email = 'Ada.Verifying@Example.com'
  const { body } = await enrol(email)
  expect([body.user.email, isVerified(body)] as unknown[]).toEqual([email.toLowerCase(), false])
  const ada = client.as(body.access_token)
  const before = await ada.get('/auth/me')
  const { token } = await server.mail(email.toLowerCase())
  expectResponse(await verifying(client, token), 200, { message: 'Email address verified successfully' })
  const after = await ada.get('/auth/me')
  expect([before, after].map(({ body: user }) => isVerified({ user }))).toEqual([false, true])
  expect(after.headers.get('etag')).not.toBe(before.headers.get('etag'))
  expect(isVerified((await client.post('/auth/login', { email, password: 'secret-1' })).body)).toBe(true)
})

test('delivers to addresses with every allowed character, and rejects malformed addresses with 400', async () => {
  const odd = ["o'neil+tag=x/y%z@example.com", "!#$%&'*+-/=?^_`{|}~.a@example.com", 'grüße@example.com']
  for (const email of odd) {
    expect([email, (await enrol(email)).status]).toEqual([email, 201])
    expect((await server.mail(email)).to).toBe(email)
  }
  const malformed = ['a@example.com\r\nBcc: b@example.com', 'a b@example.com', '<a@example.com>', 'a,b@c.de']
  for (const email of malformed) expect([email, (await enrol(email)).status]).toEqual([email, 400])
})

test('a mail token can be used once, for one purpose and the address that it was sent to, until it expires', async () => {
  const ada = await register(client)
  const { token } = await server.mail(ada.email)
  const other = `${token.startsWith('A') ? 'B' : 'A'}${token.slice(1)}`
  for (const wrong of ['', 'x', other, token.slice(1), token.repeat(2), ` ${token}`, 'a\0b'])
    expectError(await verifying(client, wrong), 400, notValid)
  expectError(await resetting(client, token, 'secret-2'), 400, notValid)
  const expireIn = (minutes: number) => sql`
    update mail_tokens set expires_at = now() + ${minutes}::int4 * interval '1 minute' where user_id = ${ada.id}`
  await expireIn(0)
  expectError(await verifying(client, token), 400, notValid)
  await expireIn(1)
  await sql`update users set email = ${`new-${ada.email}`} where id = ${ada.id}`
  expectError(await verifying(client, token), 400, notValid)
  await sql`update users set email = ${ada.email} where id = ${ada.id}`
  const answers = await Promise.all(upTo(8).map(() => verifying(client, token)))
  expect(statuses(answers)).toEqual({ 200: 1, 400: 7 })
})

test('inviting an unverified address fails with 409, also in a batch, but the account itself can use the service', async () => {
  const [ada, ceo] = [await register(client), await register(client, 'The CEO')]
  const { id } = await make(ada, '/projects', { name: 'P' })
  const invitation = { email: ceo.email, role: 'EDITOR' }
  const inviting = () => ada.post(`/projects/${id}/members/invite`, invitation)
  const batch = (query = '') =>
    ada.post(`/projects/${id}/batch${query}`, { operations: [{ op: 'member.invite', ...invitation }] })
  expectError(await inviting(), 409, /^The user has not verified this email address/)
  for (const query of ['', '?dryRun=true']) expectError(await batch(query), 409, /^operations\[0\]: The user/)
  expect((await ceo.post('/projects', { name: 'Own' })).status).toBe(201)
  await verifying(client, (await server.mail(ceo.email)).token)
  expect((await batch('?dryRun=true')).status).toBe(200)
  expect((await inviting()).status).toBe(201)
})

test('sends the verification mail again, a limited number of times per hour and once for an Idempotency-Key', async () => {
  const ada = await register(client)
  const key = { 'idempotency-key': 'once' }
  const resend = () => ada.post('/auth/email/resend', undefined, key)
  const replays = async (send: () => Promise<{ headers: Headers }>) =>
    [await send(), await send()].map(({ headers }) => headers.get('idempotency-replayed'))
  expect(await replays(resend)).toEqual([null, 'true'])
  expectResponse(await ada.post('/auth/email/resend'), 202, { message: 'A mail will be sent' })
  expectError(await ada.post('/auth/email/resend'), 429, /^Too many requests; try again in \d+ seconds$/)
  await server.mail(ada.email, 3)
  const tokens = server.to(ada.email).map(({ token }) => token)
  expect(new Set(tokens).size).toBe(3)
  expect(await replays(() => client.post('/auth/email/verify', { token: tokens[1] }, key))).toEqual([
    null,
    'true',
  ])
  expect((await verifying(client, tokens[0]!)).status).toBe(200)
  expectError(await ada.post('/auth/email/resend'), 409, 'This email address is verified already')
})

test('deleting an account deletes its mail tokens, and registering again does not raise the mail limit of the address', async () => {
  const email = 'again@example.com'
  for (const n of upTo(4)) {
    const { body } = await enrol(email)
    if (n <= 3) await server.mail(email, n)
    const deleted = await client.as(body.access_token).delete('/auth/me')
    expectResponse(deleted, 200, { message: 'Account deleted successfully' })
  }
  expect(await sql`select from mail_tokens where email = ${email}`).toHaveLength(0)
  await verified(scene)
  expect(server.to(email)).toHaveLength(3)
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
  expect(isVerified({ user: (await grace.get('/auth/me')).body })).toBe(false)
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
