import { expectError, expectResponse, forFile, invite, make, openTestService, register } from '../kit.ts'
import { statuses, upTo } from '../kit.ts'
import type { Body, Client } from '../kit.ts'
import { forgetting, openMailScene, resetting, verified, verifying } from './scene.ts'

const notValid = /^token must be /
const unverified = /^The user has not verified this email address/

const scene = await forFile(openMailScene({ MAILS_PER_HOUR: '3' }))
const { client, server, sql } = scene

const shown = (user: Body) => (user as unknown as { emailVerified: boolean }).emailVerified
const isVerified = async (who: Client) => shown((await who.get('/auth/me')).body)

test('registration sends a token that verifies the address', async () => {
  const email = 'Ada.Verifying@Example.com'
  const made = await client.post('/auth/register', { name: 'Ada', email, password: 'secret-1' })
  expect([made.body.user.email as unknown, shown(made.body.user)]).toEqual([email.toLowerCase(), false])
  const ada = client.as(made.body.access_token)
  const before = await ada.get('/auth/me')
  expect(shown(before.body)).toBe(false)
  const { token } = await server.mail(email.toLowerCase())
  expectResponse(await verifying(client, token), 200, { message: 'Email address verified successfully' })
  const after = await ada.get('/auth/me')
  expect(shown(after.body)).toBe(true)
  expect(after.headers.get('etag')).not.toBe(before.headers.get('etag'))
  const login = await client.post('/auth/login', { email, password: 'secret-1' })
  expect(shown(login.body.user)).toBe(true)
})

test('a mail token can be used once, for one purpose, until it expires', async () => {
  const ada = await register(client)
  const { token } = await server.mail(ada.email)
  const other = `${token.startsWith('A') ? 'B' : 'A'}${token.slice(1)}`
  for (const wrong of ['', 'x', other, token.slice(1), token.repeat(2), ` ${token}`, 'a\0b'])
    expectError(await verifying(client, wrong), 400, notValid)
  const reset = { token, password: 'secret-2' }
  expectError(await client.post('/auth/password/reset', reset), 400, notValid)
  await sql`update mail_tokens set expires_at = now() where user_id = ${ada.id}`
  expectError(await verifying(client, token), 400, notValid)
  await sql`update mail_tokens set expires_at = now() + interval '1 minute' where user_id = ${ada.id}`
  const answers = await Promise.all(upTo(8).map(() => verifying(client, token)))
  expect(statuses(answers)).toEqual({ 200: 1, 400: 7 })
})

test('a token verifies only the address that it was sent to', async () => {
  const ada = await register(client)
  const { token } = await server.mail(ada.email)
  await sql`update users set email = ${`new-${ada.email}`} where id = ${ada.id}`
  expectError(await verifying(client, token), 400, notValid)
  expect(await isVerified(ada)).toBe(false)
})

test('inviting an unverified address fails with 409, also in a batch, but the account itself can use the service', async () => {
  const [ada, ceo] = [await register(client), await register(client, 'The CEO')]
  const { id } = await make(ada, '/projects', { name: 'P' })
  const invitation = { email: ceo.email, role: 'EDITOR' }
  const batch = { operations: [{ op: 'member.invite', ...invitation }] }
  const inviting = () => ada.post(`/projects/${id}/members/invite`, invitation)
  expectError(await inviting(), 409, unverified)
  for (const query of ['', '?dryRun=true'])
    expectError(await ada.post(`/projects/${id}/batch${query}`, batch), 409, /^operations\[0\]: The user/)
  expect((await ceo.post('/projects', { name: 'Own' })).status).toBe(201)
  await verifying(client, (await server.mail(ceo.email)).token)
  expect((await ada.post(`/projects/${id}/batch?dryRun=true`, batch)).status).toBe(200)
  expect((await inviting()).status).toBe(201)
})

test('sends the verification mail again, a limited number of times per hour', async () => {
  const ada = await register(client)
  const resend = () => ada.post('/auth/email/resend')
  for (const _ of upTo(2)) expectResponse(await resend(), 202, { message: 'A mail will be sent' })
  expectError(await resend(), 429, /^Too many requests; try again in \d+ seconds$/)
  expectError(await client.post('/auth/email/resend'), 401)
  await server.mail(ada.email, 3)
  const tokens = server.to(ada.email).map(({ token }) => token)
  expect(new Set(tokens).size).toBe(3)
  expect((await verifying(client, tokens[1]!)).status).toBe(200)
  expect((await verifying(client, tokens[0]!)).status).toBe(200)
  expectError(await resend(), 409, 'This email address is verified already')
})

test('sends one mail for several requests with the same Idempotency-Key', async () => {
  const ada = await register(client)
  const key = { 'idempotency-key': 'once' }
  const replays = async (send: () => Promise<{ status: number; headers: Headers }>) => {
    const answers = [await send(), await send()]
    return answers.flatMap(({ status, headers }) => [status, headers.get('idempotency-replayed')])
  }
  const resend = () => ada.post('/auth/email/resend', undefined, key)
  expect(await replays(resend)).toEqual([202, null, 202, 'true'])
  const { token } = await server.mail(ada.email, 2)
  const verify = () => client.post('/auth/email/verify', { token }, key)
  expect(await replays(verify)).toEqual([200, null, 200, 'true'])
  expect(server.to(ada.email)).toHaveLength(2)
})

test('deleting an account deletes its mail tokens, and registering again does not raise the mail limit of the address', async () => {
  const account = { name: 'Ada', email: 'again@example.com', password: 'secret-1' }
  for (const n of upTo(4)) {
    const { body, status } = await client.post('/auth/register', account)
    expect(status).toBe(201)
    if (n <= 3) await server.mail(account.email, n)
    const ada = client.as(body.access_token)
    expectResponse(await ada.delete('/auth/me'), 200, { message: 'Account deleted successfully' })
  }
  expect(await sql`select from mail_tokens where email = ${account.email}`).toHaveLength(0)
  await verified(scene)
  expect(server.to(account.email)).toHaveLength(3)
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
  const { body } = await grace.get('/auth/me')
  expect(body as unknown).toMatchObject({ id: grace.id, emailVerified: false })
})
