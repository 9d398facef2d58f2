import { afterAll, beforeAll, expect, test } from 'bun:test'
import { expectAnswer, expectRefusal } from '../http/answers.ts'
import { eventually, tally, upTo } from '../races/pair.ts'
import { type Person, register } from '../support/client.ts'
import {
  forgetting,
  type MailScene,
  openMailScene,
  resetting,
  resetToken,
  verified,
  verifying,
} from './scene.ts'

const notValid = /^token must be /
const sent = { message: 'A mail is on its way if this address is verified' }

let scene: MailScene
beforeAll(async () => void (scene = await openMailScene({ MAILS_PER_HOUR: '20' })))
afterAll(() => scene.close())

const signIn = async ({ email }: Person, password: string) =>
  (await scene.client.post('/auth/login', { email, password })).status

test('a reset sets the password and ends every sign-in and API token', async () => {
  const { client } = scene
  const ada = await verified(scene)
  const expiresAt = new Date(Date.now() + 86_400_000).toISOString()
  const made = await ada.post('/tokens', { name: 'T', scopes: ['admin'], expiresAt })
  const program = ada.as((made.body as never as { token: string }).token)
  const token = await resetToken(scene, ada)
  const answer = await resetting(client, token, 'secret-2')
  expectAnswer(answer, 200, { message: 'Password set successfully' })
  for (const who of [ada, program])
    await eventually('the token has ended', async () => (await who.get('/auth/me')).status === 401)
  expect([await signIn(ada, 'secret-1'), await signIn(ada, 'secret-2')]).toEqual([401, 200])
  const tokens = await scene.service.services.database.chores`
    select from api_tokens where user_id = ${ada.id}`
  expect(tokens).toHaveLength(0)
})

test('of many resets with one token exactly one sets the password', async () => {
  const ada = await verified(scene)
  const token = await resetToken(scene, ada)
  const answers = await Promise.all(upTo(6).map((n) => resetting(scene.client, token, `secret-1${n}`)))
  expect(tally(answers.map(({ status }) => status))).toEqual({ 200: 1, 400: 5 })
  const won = answers.findIndex(({ status }) => status === 200)
  expect(await signIn(ada, `secret-1${won + 1}`)).toBe(200)
  expectRefusal(await resetting(scene.client, token, 'secret-9'), 400, notValid)
})

test('a reset token expires after 30 minutes, and with any change of the password or sign-out everywhere', async () => {
  const { client, service } = scene
  const sql = service.services.database.chores
  const ada = await verified(scene)
  const first = await resetToken(scene, ada)
  const [row] = await sql<{ seconds: number }[]>`
    select extract(epoch from expires_at - now())::float8 as seconds from mail_tokens
    where user_id = ${ada.id} and purpose = 'reset'`
  expect(row!.seconds).toBeWithin(1_500, 1_801)
  await sql`update mail_tokens set expires_at = now() where user_id = ${ada.id}`
  expectRefusal(await resetting(client, first, 'secret-2'), 400, notValid)
  const second = await resetToken(scene, ada)
  await ada.post('/auth/logout-all')
  expectRefusal(await resetting(client, second, 'secret-2'), 400, notValid)
  const third = await resetToken(scene, ada)
  const fourth = await resetToken(scene, ada)
  expect((await resetting(client, third, 'secret-3')).status).toBe(200)
  expectRefusal(await resetting(client, fourth, 'secret-4'), 400, notValid)
  expect(await signIn(ada, 'secret-3')).toBe(200)
})

test('a wrong or used token costs no hash of a password, and a short password keeps the token', async () => {
  const { client, service } = scene
  const ada = await verified(scene)
  const token = await resetToken(scene, ada)
  const { passwords } = service.services
  const hash = passwords.hash
  let hashed = 0
  passwords.hash = (...given) => (hashed++, hash(...given))
  try {
    for (const wrong of ['x', 'A'.repeat(43)])
      expectRefusal(await resetting(client, wrong, 'secret-2'), 400, notValid)
    expectRefusal(await resetting(client, token, '12345'), 400, /^password must be /)
    expect(hashed).toBe(0)
    expect((await resetting(client, token, 'secret-2')).status).toBe(200)
    expectRefusal(await resetting(client, token, 'secret-3'), 400, notValid)
    expect(hashed).toBe(1)
  } finally {
    passwords.hash = hash
  }
})

test('known, unverified and unknown addresses get the same answer after the same statements', async () => {
  const idle = await openMailScene({}, { isIdle: true })
  try {
    const { client, service, server } = idle
    const sql = service.services.database.chores
    const [known, unverified] = [await register(client), await register(client)]
    await sql`delete from outbox`
    await sql`update users set email_verified_at = now() where id = ${known.id}`
    const asked = async (email: string) => {
      const { seconds } = service.services.counts.queries.chores
      const queries = () => seconds.counts.reduce((sum, count) => sum + count, 0)
      const before = queries()
      const { status, body, headers } = await forgetting(client, email)
      return { status, body, names: [...headers.keys()].sort(), queries: queries() - before }
    }
    const answer = await asked(known.email)
    expect([answer.status, answer.body as unknown]).toEqual([202, sent])
    for (const email of [unverified.email, 'nobody@example.com']) expect(await asked(email)).toEqual(answer)
    expect(await sql`select from outbox`).toHaveLength(3)
    service.startWorkers()
    await eventually('all jobs are done', async () => (await sql`select from outbox`).length === 0)
    expect(server.attempts).toEqual([known.email])
    expectRefusal(await forgetting(client, 'nobody'), 400, /^email must be /)
  } finally {
    await idle.close()
  }
})

test('mails to one address are bounded per hour, whether it has an account or not', async () => {
  const few = await openMailScene({ MAILS_PER_HOUR: '2' })
  try {
    const ada = await verified(few)
    const statuses = async (email: string) => {
      const answers = [await forgetting(few.client, email), await forgetting(few.client, email)]
      return [...answers, await forgetting(few.client, email)].map(({ status }) => status)
    }
    expect(await statuses('nobody@example.com')).toEqual([202, 202, 429])
    expect(await statuses(ada.email.toUpperCase())).toEqual([202, 429, 429])
  } finally {
    await few.close()
  }
})

test('a reset holds the new password to what the operator asks, and leaves the token for another', async () => {
  const strict = await openMailScene({ PASSWORD_MIN_CHARACTERS: '12', PASSWORD_REJECT_COMMON: 'on' })
  const email = 'strict@example.com'
  const { body } = await strict.client.post('/auth/register', {
    name: 'A',
    email,
    password: 'a plate of brass',
  })
  await verifying(strict.client, (await strict.server.mail(email)).token)
  const token = await resetToken(strict, { ...strict.client.as(body.access_token), id: body.user.id, email })
  for (const [password, message] of [
    ['too short', /^password must be a password of 12 to 1024 characters$/],
    ['1QAZ2wsx3edc', /most common/],
  ] as const)
    expectRefusal(await resetting(strict.client, token, password), 400, message)
  expect((await resetting(strict.client, token, 'another plate of brass')).status).toBe(200)
  await strict.close()
})
