import { claimsOf, expectError, expiresAt, isReplay, make, openScene, openTestService } from '../kit.ts'
import { register, signToken, statuses, testSecret, upTo } from '../kit.ts'
import type { Answer, Client, Person } from '../kit.ts'

const { client } = await openScene([], { TRUST_PROXY: 'on', SIGN_IN_FAILURES: '3' })

const needed = 'The sign-in is older than 5 minutes: send password in the body, or sign in again first'
const wrong = 'The password is wrong'
const token = { name: 'Importer', scopes: ['read'], expiresAt }
const asMinutesAgo = async (minutes: number, { id, as }: Person): Promise<Client> =>
  as(signToken(claimsOf(id, { auth_time: Math.floor(Date.now() / 1000 - minutes * 60) }), testSecret))
const from = (n: number) => ({ 'x-forwarded-for': `10.4.0.${n}` })

type Write = (client: Client, body?: object, headers?: Record<string, string>) => Promise<Answer>
const writes: [operation: string, status: number, Write][] = [
  ['deleting an account', 200, (client, body, headers) => client.call('DELETE', '/auth/me', body, headers)],
  [
    'creating a token',
    201,
    (client, body, headers) => client.post('/tokens', { ...token, ...body }, headers),
  ],
]
for (const [operation, status, write] of writes) {
  describe(operation, () => {
    test('needs no password for five minutes after the sign-in', async () => {
      const ada = await register(client)
      expect((await write(await asMinutesAgo(4.5, ada))).status).toBe(status)
    })

    test('needs the password after five minutes, or if the token has no issue time', async () => {
      const ada = await register(client)
      const before = signToken(claimsOf(ada.id, { auth_time: undefined }), testSecret)
      expectError(await write(ada.as(before)), 403, needed)
      const later = await asMinutesAgo(5.5, ada)
      expectError(await write(later), 403, needed)
      expectError(await write(later, { password: 'secret-2' }), 403, wrong)
      expectError(await write(later, { password: 7 }), 400, /^password must be/)
      expectError(await write(later, { passwort: 'x' }), 400, /did you mean password/)
      expect((await write(later, { password: 'secret-1' })).status).toBe(status)
    })

    test('checks a given password even after a recent sign-in, and limits the guesses as sign-in does', async () => {
      const ada = await register(client)
      expectError(await write(ada, { password: 'secret-2' }, from(10)), 403, wrong)
      const guess = (n: number) => write(ada, { password: `guess ${n}` }, from(n))
      expect(statuses(await Promise.all(upTo(9).map(guess)))).toEqual({ 403: 3, 429: 6 })
    })

    test('returns the first response to a repeat, and rejects a repeat with another password', async () => {
      const ada = await register(client)
      const key = { 'idempotency-key': operation }
      const first = await write(ada, { password: 'secret-1' }, key)
      expect(first.status).toBe(status)
      expectError(await write(ada, { password: 'secret-2' }, key), 422)
      const again = await write(ada, { password: 'secret-1' }, key)
      expect([again.text, isReplay(again)]).toEqual([first.text, true])
    })
  })
}

test('creating a token of a service account needs a recent sign-in or the password too', async () => {
  const ada = await register(client)
  const { id: projectId } = await make(ada, '/projects', { name: 'P' })
  const { id } = await make(ada, `/projects/${projectId}/service-accounts`, { name: 'S' })
  const path = `/projects/${projectId}/service-accounts/${id}/tokens`
  const later = await asMinutesAgo(6, ada)
  expectError(await later.post(path, token), 403, needed)
  expect((await later.post(path, { ...token, password: 'secret-1' })).status).toBe(201)
  expect((await ada.post(path, token)).status).toBe(201)
})

test('a password check counts toward the sign-in limit of its IP address', async () => {
  await using limited = await openTestService({ TRUST_PROXY: 'on', SIGN_INS_PER_MINUTE: '3' })
  const ada = await register(limited.client)
  const check = (n: number) => ada.post('/tokens', { ...token, password: 'secret-1', name: `T${n}` }, from(1))
  expect(statuses(await Promise.all(upTo(5).map(check)))).toEqual({ 201: 3, 429: 2 })
})

test('a changed password and a login both count as a recent sign-in', async () => {
  const ada = await register(client)
  const later = await asMinutesAgo(60, ada)
  const { body } = await later.patch('/auth/me', { password: 'secret-2', currentPassword: 'secret-1' })
  expect((await ada.as(body.access_token).post('/tokens', token)).status).toBe(201)
  const login = await client.post('/auth/login', { email: ada.email, password: 'secret-2' })
  expect((await ada.as(login.body.access_token).delete('/auth/me')).status).toBe(200)
})

test('deletes an account with an empty body or without a body, whatever its headers', async () => {
  const bodies: [body?: unknown, headers?: Record<string, string>][] = [
    [],
    [{}],
    ['', { 'content-length': '0' }],
    [undefined, { 'content-type': 'application/json' }],
  ]
  for (const [body, headers] of bodies) {
    const ada = await register(client)
    expect((await ada.call('DELETE', '/auth/me', body, headers)).status).toBe(200)
  }
  const ada = await register(client)
  expectError(await ada.call('DELETE', '/auth/me', '{', { 'content-type': 'application/json' }), 400)
  expectError(await ada.call('DELETE', '/auth/me', 'x', { 'content-type': 'text/plain' }), 415)
})
