import { claimsOf, expectError, expiresAt, isReplay, make, openScene, openTestService } from '../kit.ts'
import { register, signToken, statuses, testSecret, upTo } from '../kit.ts'
import type { Answer, Client, Person } from '../kit.ts'

const { client } = await openScene([], { TRUST_PROXY: 'on', SIGN_IN_FAILURES: '3' })

const needed = 'The sign-in is older than 5 minutes: send password in the body, or sign in again first'
const wrong = 'The password is wrong'
const token = { name: 'Importer', scopes: ['read'], expiresAt }
const signedInAt = (time: number | undefined, { id, as }: Person): Client =>
  as(signToken(claimsOf(id, { auth_time: time }), testSecret))
const minutesAgo = (minutes: number, person: Person) =>
  signedInAt(Math.floor(Date.now() / 1000 - minutes * 60), person)
const from = (n: number) => ({ 'x-forwarded-for': `10.4.0.${n}` })

async function accountTokens(ada: Person): Promise<string> {
  const { id: projectId } = await make(ada, '/projects', { name: 'P' })
  const accounts = `/projects/${projectId}/service-accounts`
  return `${accounts}/${(await make(ada, accounts, { name: 'S' })).id}/tokens`
}

type Write = (by: Client, body?: object, headers?: Record<string, string>) => Promise<Answer>
type Prepare = (ada: Person) => Write | Promise<Write>
const createIn = (path: string): Write => {
  return (by, body, headers) => by.post(path, { ...token, ...body }, headers)
}
const writes: [operation: string, status: number, Prepare][] = [
  ['deleting an account', 200, () => (by, body, headers) => by.call('DELETE', '/auth/me', body, headers)],
  ['creating a token', 201, () => createIn('/tokens')],
  ['creating a token of a service account', 201, async (ada) => createIn(await accountTokens(ada))],
]

describe.each(writes)('%s', (operation, status, prepare) => {
  const open = async () => {
    const ada = await register(client)
    return { ada, write: await prepare(ada) }
  }

  test('needs the password more than five minutes after the sign-in, or without the time of the sign-in', async () => {
    const { ada, write } = await open()
    const later = minutesAgo(5.5, ada)
    for (const one of [signedInAt(undefined, ada), later]) expectError(await write(one), 403, needed)
    expectError(await write(later, { password: 'secret-2' }), 403, wrong)
    expectError(await write(later, { password: 7 }), 400, /^password must be/)
    expectError(await write(later, { passwort: 'x' }), 400, /did you mean password/)
    expect((await write(later, { password: 'secret-1' })).status).toBe(status)
    const { ada: recent, write: writeRecent } = await open()
    expect((await writeRecent(minutesAgo(4.5, recent))).status).toBe(status)
  })

  test('checks a given password even after a recent sign-in, and limits the guesses as sign-in does', async () => {
    const { ada, write } = await open()
    expectError(await write(ada, { password: 'secret-2' }, from(10)), 403, wrong)
    const guess = (n: number) => write(ada, { password: `guess ${n}` }, from(n))
    expect(statuses(await Promise.all(upTo(9).map(guess)))).toEqual({ 403: 3, 429: 6 })
  })

  test('returns the first response to a repeat, and rejects a repeat with another password', async () => {
    const { ada, write } = await open()
    const key = { 'idempotency-key': operation }
    const first = await write(ada, { password: 'secret-1' }, key)
    expect(first.status).toBe(status)
    expectError(await write(ada, { password: 'secret-2' }, key), 422)
    const again = await write(ada, { password: 'secret-1' }, key)
    expect([again.text, isReplay(again)]).toEqual([first.text, true])
  })
})

test('a password check counts toward the sign-in limit of its IP address', async () => {
  await using limited = await openTestService({ TRUST_PROXY: 'on', SIGN_INS_PER_MINUTE: '3' })
  const ada = await register(limited.client)
  const check = (n: number) => ada.post('/tokens', { ...token, password: 'secret-1', name: `T${n}` }, from(1))
  expect(statuses(await Promise.all(upTo(5).map(check)))).toEqual({ 201: 3, 429: 2 })
})

test('a changed password and a login both count as a recent sign-in', async () => {
  const ada = await register(client)
  const change = { password: 'secret-2', currentPassword: 'secret-1' }
  const { body } = await minutesAgo(60, ada).patch('/auth/me', change)
  expect((await ada.as(body.access_token).post('/tokens', token)).status).toBe(201)
  const login = await client.post('/auth/login', { email: ada.email, password: 'secret-2' })
  expect((await ada.as(login.body.access_token).delete('/auth/me')).status).toBe(200)
})

test('deletes an account with an empty body or without a body, whatever its headers', async () => {
  const json = { 'content-type': 'application/json' }
  const bodies: [status: number, body?: unknown, headers?: Record<string, string>][] = [
    ...[[200], [200, {}], [200, '', { 'content-length': '0' }], [200, undefined, json]],
    ...[
      [400, '{', json],
      [415, 'x', { 'content-type': 'text/plain' }],
    ],
  ] as never
  for (const [status, body, headers] of bodies) {
    const answer = await (await register(client)).call('DELETE', '/auth/me', body, headers)
    expect([body, answer.status]).toEqual([body, status])
  }
})
