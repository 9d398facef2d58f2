import { eventually, expectError, expectResponse, forFile, register, statuses, upTo } from '../kit.ts'
import { withToken } from '../kit.ts'
import type { Person } from '../kit.ts'
import { untilOutboxEmpty } from '../workers/remains.ts'
import { forgetting, openMailScene, resetting, resetToken, verified, verifying } from './scene.ts'

const notValid = /^token must be /
const sent = { message: 'A mail will be sent if this address is verified' }

const scene = await forFile(openMailScene({ MAILS_PER_HOUR: '20' }))
const { client, service, sql } = scene

const signIn = async ({ email }: Person, password: string) =>
  (await client.post('/auth/login', { email, password })).status

test('a reset sets the password, ends every sign-in and revokes every API token', async () => {
  const ada = await verified(scene)
  const program = await withToken(ada)
  const token = await resetToken(scene, ada)
  const answer = await resetting(client, token, 'secret-2')
  expectResponse(answer, 200, { message: 'Password set successfully' })
  for (const who of [ada, program])
    await eventually('the end of the token', async () => (await who.get('/auth/me')).status === 401)
  expect([await signIn(ada, 'secret-1'), await signIn(ada, 'secret-2')]).toEqual([401, 200])
  expect(await sql`select from api_tokens where user_id = ${ada.id}`).toHaveLength(0)
})

test('exactly one of many concurrent resets with the same token sets the password', async () => {
  const ada = await verified(scene)
  const token = await resetToken(scene, ada)
  const answers = await Promise.all(upTo(6).map((n) => resetting(client, token, `secret-1${n}`)))
  expect(statuses(answers)).toEqual({ 200: 1, 400: 5 })
  const won = answers.findIndex(({ status }) => status === 200)
  expect(await signIn(ada, `secret-1${won + 1}`)).toBe(200)
  expectError(await resetting(client, token, 'secret-9'), 400, notValid)
})

test('a reset token expires after 30 minutes, and after any change of the password or sign-out everywhere', async () => {
  const ada = await verified(scene)
  const first = await resetToken(scene, ada)
  const [row] = await sql<{ seconds: number }[]>`
    select extract(epoch from expires_at - now())::float8 as seconds from mail_tokens
    where user_id = ${ada.id} and purpose = 'reset'`
  expect(row!.seconds).toBeWithin(1_500, 1_801)
  await sql`update mail_tokens set expires_at = now() where user_id = ${ada.id}`
  expectError(await resetting(client, first, 'secret-2'), 400, notValid)
  const second = await resetToken(scene, ada)
  await ada.post('/auth/logout-all')
  expectError(await resetting(client, second, 'secret-2'), 400, notValid)
  const third = await resetToken(scene, ada)
  const fourth = await resetToken(scene, ada)
  expect((await resetting(client, third, 'secret-3')).status).toBe(200)
  expectError(await resetting(client, fourth, 'secret-4'), 400, notValid)
  expect(await signIn(ada, 'secret-3')).toBe(200)
})

test('an invalid token is rejected without a password hash, and a short password does not use up the token', async () => {
  const ada = await verified(scene)
  const token = await resetToken(scene, ada)
  const { passwords } = service.services
  const hash = passwords.hash
  let hashed = 0
  passwords.hash = (...given) => (hashed++, hash(...given))
  try {
    for (const wrong of ['x', 'A'.repeat(43)])
      expectError(await resetting(client, wrong, 'secret-2'), 400, notValid)
    expectError(await resetting(client, token, '12345'), 400, /^password must be /)
    expect(hashed).toBe(0)
    expect((await resetting(client, token, 'secret-2')).status).toBe(200)
    expectError(await resetting(client, token, 'secret-3'), 400, notValid)
    expect(hashed).toBe(1)
  } finally {
    passwords.hash = hash
  }
})

test('verified, unverified and unknown addresses get the same response after the same number of queries', async () => {
  await using idle = await openMailScene({}, { isIdle: true })
  const [known, unverified] = [await register(idle.client), await register(idle.client)]
  await idle.sql`delete from outbox`
  await idle.sql`update users set email_verified_at = now() where id = ${known.id}`
  const queries = () => idle.service.services.counts.queries.background.total
  const responseTo = async (email: string) => {
    const before = queries()
    const { status, body, headers } = await forgetting(idle.client, email)
    return { status, body, names: [...headers.keys()].sort(), queries: queries() - before }
  }
  const answer = await responseTo(known.email)
  expect([answer.status, answer.body as unknown]).toEqual([202, sent])
  for (const email of [unverified.email, 'nobody@example.com'])
    expect(await responseTo(email)).toEqual(answer)
  expect(await idle.sql`select from outbox`).toHaveLength(3)
  idle.service.startWorkers()
  await untilOutboxEmpty(idle.sql)
  expect(idle.server.attempts).toEqual([known.email])
  expectError(await forgetting(idle.client, 'nobody'), 400, /^email must be /)
})

test('limits the mails per hour to an address, whether or not it has an account', async () => {
  await using few = await openMailScene({ MAILS_PER_HOUR: '2' })
  const ada = await verified(few)
  const statusesFor = async (email: string) => {
    const found: number[] = []
    for (const _ of upTo(3)) found.push((await forgetting(few.client, email)).status)
    return found
  }
  expect(await statusesFor('nobody@example.com')).toEqual([202, 202, 429])
  expect(await statusesFor(ada.email.toUpperCase())).toEqual([202, 429, 429])
})

test('a reset applies the password policy, and a rejected password does not use up the token', async () => {
  await using strict = await openMailScene({ PASSWORD_MIN_CHARACTERS: '12', PASSWORD_REJECT_COMMON: 'on' })
  const account = { name: 'A', email: 'strict@example.com', password: 'a plate of brass' }
  const { id } = (await strict.client.post('/auth/register', account)).body.user
  await verifying(strict.client, (await strict.server.mail(account.email)).token)
  const token = await resetToken(strict, { ...strict.client, id, email: account.email })
  for (const [password, message] of [
    ['too short', /^password must be a password of 12 to 1024 characters$/],
    ['1QAZ2wsx3edc', /most common/],
  ] as const)
    expectError(await resetting(strict.client, token, password), 400, message)
  expect((await resetting(strict.client, token, 'another plate of brass')).status).toBe(200)
})
