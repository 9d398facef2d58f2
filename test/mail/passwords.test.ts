import { eventually, expectError, expectResponse, forFile, openTestService, type Person } from '../kit.ts'
import { register, statuses, upTo, withToken } from '../kit.ts'
import { untilOutboxEmpty } from '../workers/remains.ts'
import { forgetting, notValid, openMailScene, resetting, resetToken, verified, verifying } from './scene.ts'

const scene = await forFile(openMailScene({ MAILS_PER_HOUR: '20' }))
const { client, sql } = scene

const signIn = async ({ email }: Person, password: string) =>
  (await client.post('/auth/login', { email, password })).status

test('a reset sets the password, ends every sign-in and revokes every API token', async () => {
  const ada = await verified(scene)
  const program = await withToken(ada)
  const answer = await resetting(client, await resetToken(scene, ada), 'secret-2')
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
  const ends = [
    async () => {
      const [row] = await sql<{ minutes: number }[]>`
        select extract(epoch from expires_at - now())::float8 / 60 as minutes from mail_tokens
        where user_id = ${ada.id} and purpose = 'reset'`
      expect(row!.minutes).toBeWithin(25, 30.1)
      await sql`update mail_tokens set expires_at = now() where user_id = ${ada.id}`
    },
    () => ada.post('/auth/logout-all'),
    async () => {
      const other = await resetToken(scene, ada)
      expect((await resetting(client, other, 'secret-3')).status).toBe(200)
    },
  ]
  for (const end of ends) {
    const token = await resetToken(scene, ada)
    await end()
    expectError(await resetting(client, token, 'secret-2'), 400, notValid)
  }
  expect(await signIn(ada, 'secret-3')).toBe(200)
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
