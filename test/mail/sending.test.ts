import { eventually, expireMailTokens, forFile, make, openScene, openTestService } from '../kit.ts'
import { readConfig, register } from '../kit.ts'
import { openSilentServer } from '../support/mail.ts'
import { untilOutboxEmpty } from '../workers/remains.ts'
import { forgetting, openMailScene, resetting, verified, verifying } from './scene.ts'

test('a mail is plain text with the token, from the configured sender to one recipient', async () => {
  await using scene = await openMailScene({ MAIL_FROM: 'Docket <docket@example.com>' })
  const { client, server } = scene
  const ada = await verified(scene, 'Ada Bcc: eve@example.com <b>')
  const { from, to, subject, source, headers, text, messageId } = await server.mail(ada.email)
  expect([from, to, subject]).toEqual([
    ...['"Docket" <docket@example.com>', ada.email, 'Verify your email address'],
  ])
  expect(source).not.toMatch(/Bcc|eve|Ada|html|multipart/i)
  expect(headers).toContainEqual(['auto-submitted', 'auto-generated'])
  expect(headers).toContainEqual(['content-type', 'text/plain; charset=utf-8'])
  expect(text).not.toContain('http')
  await forgetting(client, ada.email)
  const reset = await server.mail(ada.email, 2)
  expect([reset.subject, reset.text.includes('30 minutes')]).toEqual(['Reset your password', true])
  expect(reset.messageId).not.toBe(messageId)
})

test('a mail links to PUBLIC_URL with the token in the fragment, which servers do not log', async () => {
  const PUBLIC_URL = 'https://tracker.example.com/app/'
  await using scene = await openMailScene({ PUBLIC_URL })
  const { client, server } = scene
  const ada = await register(client)
  const { text, token } = await server.mail(ada.email)
  expect(text.split('\n')).toContain(`${PUBLIC_URL}verify-email#token=${token}`)
  await verifying(client, token)
  await forgetting(client, ada.email)
  const reset = await server.mail(ada.email, 2)
  expect(reset.text.split('\n')).toContain(`${PUBLIC_URL}reset-password#token=${reset.token}`)
})

test('without PUBLIC_URL, a mail names the path of the API below BASE_PATH', async () => {
  await using scene = await openMailScene({ BASE_PATH: '/docket' })
  const { text } = await scene.server.mail((await register(scene.client)).email)
  expect(text).toContain('to POST /docket/api/v1/auth/email/verify within')
})

test('delivers to addresses with every allowed character, and rejects malformed addresses with 400', async () => {
  await using scene = await openMailScene()
  const { client, server } = scene
  const odd = ["o'neil+tag=x/y%z@example.com", "!#$%&'*+-/=?^_`{|}~.a@example.com", 'grüße@example.com']
  const enrol = async (email: string) =>
    (await client.post('/auth/register', { name: 'Ada', email, password: 'secret-1' })).status
  for (const email of odd) {
    expect([email, await enrol(email)]).toEqual([email, 201])
    expect((await server.mail(email)).to).toBe(email)
  }
  const wrong = ['a@example.com\r\nBcc: b@example.com', 'a b@example.com', '<a@example.com>', 'a,b@c.de']
  for (const email of wrong) expect([email, await enrol(email)]).toEqual([email, 400])
  expect(server.attempts).toEqual(odd)
})

test('retries a mail that the server deferred, with the same token', async () => {
  const reject = (_: string, attempt: number) => (attempt < 3 ? 451 : undefined)
  await using scene = await openMailScene({}, { reject })
  const { client, server, sql } = scene
  const ada = await register(client)
  await server.attempted(ada.email, 3)
  await verifying(client, (await server.mail(ada.email)).token)
  await untilOutboxEmpty(scene.sql)
  expect(server.to(ada.email)).toHaveLength(1)
  expect(await sql`select from mail_tokens where user_id = ${ada.id}`).toHaveLength(1)
})

test('if the server permanently rejects a recipient, the mail is not retried and leaves no dead letter', async () => {
  await using scene = await openMailScene({ LOG_LEVEL: 'silent' }, { reject: () => 550 })
  const ada = await register(scene.client)
  await scene.server.attempted(ada.email, 1)
  await untilOutboxEmpty(scene.sql)
  expect(scene.server.attempts).toEqual([ada.email])
})

test('a mail server that does not respond does not block other jobs', async () => {
  const silent = await openSilentServer()
  await forFile(silent)
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
  const { client, server, service, sql } = scene
  await register(client)
  await sql`update outbox set created_at = now() - interval '1 day'`
  const ada = await register(client)
  await sql`update outbox set created_at = now() - interval '23 hours' where data ->> 'userId' = ${ada.id}`
  service.startWorkers()
  await untilOutboxEmpty(scene.sql)
  expect(server.attempts).toEqual([ada.email])
})

test('deletes expired mail tokens', async () => {
  await using scene = await openMailScene()
  const { client, server, sql } = scene
  const ada = await register(client)
  await server.mail(ada.email)
  await sql`insert into mail_tokens (id, user_id, purpose, email, version, expires_at)
    select gen_random_uuid(), gen_random_uuid(), 'reset', 'x', 0, now() - interval '1 s' from generate_series(1, 5)`
  await expireMailTokens(sql, { batchRows: 2, pauseMs: 0 })
  expect(await sql`select user_id from mail_tokens`).toEqual([{ userId: ada.id }] as never)
})

test('a mail token stays valid while JWT_SECRET contains the secret that signed it', async () => {
  const [first, second, third] = ['x', 'y', 'z'].map((one) => one.repeat(32))
  await using scene = await openMailScene({ JWT_SECRET: first! })
  const { client, server, service } = scene
  const ada = await verified(scene)
  await forgetting(client, ada.email)
  const { token } = await server.mail(ada.email, 2)
  const DATABASE_URL = service.env.DATABASE_URL!
  for (const [JWT_SECRET, status] of [
    [third!, 400],
    [`${second},${first}`, 200],
  ] as const) {
    await using other = await openTestService({ DATABASE_URL, JWT_SECRET, SMTP_URL: server.url })
    expect((await resetting(other.client, token, 'secret-2')).status).toBe(status)
  }
})

test('MAIL_FROM must be a single address, with or without a name', () => {
  const read = (MAIL_FROM: string) => readConfig({ MAIL_FROM }).mailFrom
  expect(read('Docket <docket@example.com>')).toEqual({ name: 'Docket', address: 'docket@example.com' })
  expect(read('docket@localhost')).toEqual({ name: '', address: 'docket@localhost' })
  for (const wrong of ['docket', 'a@b\r\nBcc: c@d', 'a@b, c@d', 'A <a@b> <c@d>', '<a@b'])
    expect(() => read(wrong)).toThrow(/^MAIL_FROM must be an address such as /)
  expect(() => readConfig({ SMTP_URL: 'http://mail' })).toThrow(/^SMTP_URL must be a URL starting with smtp:/)
  expect(() => readConfig({ PUBLIC_URL: 'tracker' })).toThrow(/^PUBLIC_URL must be a URL starting with http/)
})
