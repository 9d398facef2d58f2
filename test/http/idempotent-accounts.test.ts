import { expectError, holdTransaction, isReplay, openClient, openPair, register } from '../kit.ts'
import { replayedParts, untilBlocked, upTo } from '../kit.ts'
import type { Answer, Client } from '../kit.ts'

const used = 'This Idempotency-Key was used for another request'
const password = 'secret-1'
const pair = await openPair()
const a = openClient(pair.a.url)
const b = openClient(pair.b.url)

let people = 0
const account = () => ({ name: 'Ada', email: `keyed-${++people}@example.com`, password })
const key = { 'idempotency-key': 'the one key' }

test('a repeated registration returns the first response byte for byte, with its token', async () => {
  const ada = account()
  const first = await a.post('/auth/register', ada, key)
  expect([first.status, isReplay(first)]).toEqual([201, false])
  for (const at of [a, b]) {
    const again = await at.post('/auth/register', ada, key)
    expect(replayedParts(again)).toEqual(replayedParts(first))
    expect(isReplay(again)).toBeTrue()
  }
  expect((await b.as(first.body.access_token).get('/auth/me')).body).toEqual(first.body.user)
})

test('concurrent registrations under one key create one account and return one response', async () => {
  const ada = account()
  const answers = await Promise.all(upTo(8).map((n) => (n % 2 ? a : b).post('/auth/register', ada, key)))
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
  expect([answers[0]!.status, answers.filter((one) => !isReplay(one)).length]).toEqual([201, 1])
})

test('rejects another body with the same key with 422; each e-mail address has its own keys', async () => {
  const ada = account()
  await a.post('/auth/register', ada, key)
  for (const other of [{ password: 'secret-2' }, { name: 'Eve' }, { id: 'x' }])
    expectError(await b.post('/auth/register', { ...ada, ...other }, key), 422, used)
  expectError(await b.post('/auth/login', { email: ada.email, password }, key), 422, used)
  expectError(await b.post('/auth/register', ada), 409)
  expectError(await b.post('/auth/register', ada, { 'idempotency-key': 'new' }), 409)
  expect((await b.post('/auth/register', account(), key)).status).toBe(201)
})

test('the stored record contains no password and no token, and no fast hash of either', async () => {
  const ada = account()
  const { body } = await a.post('/auth/register', ada, key)
  const rows = await pair.sql`select * from idempotency_keys where scope = ${`email:${ada.email}`}`
  expect(rows).toHaveLength(1)
  expect(rows[0]!.fingerprint).toStartWith('$argon2id$')
  for (const secret of [password, body.access_token, body.access_token.split('.')[2]!])
    expect(JSON.stringify(rows)).not.toContain(secret)
})

test('rejects an invalid key before it registers the account, and does not store a rejected registration', async () => {
  const ada = account()
  expectError(await a.post('/auth/register', ada, { 'idempotency-key': '""' }), 400, /Idempotency-Key/)
  expectError(await a.post('/auth/register', { ...ada, password: '1' }, key), 400)
  expect((await a.post('/auth/register', ada, key)).status).toBe(201)
})

test('a repeated sign-in returns the same token', async () => {
  const ada = account()
  await a.post('/auth/register', ada)
  const other = { 'idempotency-key': 'in' }
  expectError(await a.post('/auth/login', { ...ada, password: 'wrong' }, other), 401)
  const first = await a.post('/auth/login', ada, other)
  expect(replayedParts(await b.post('/auth/login', ada, other))).toEqual(replayedParts(first))
  expectError(await b.post('/auth/login', { ...ada, password: 'wrong' }, other), 422, used)
})

const writes: [operation: string, (client: Client) => Promise<Answer>][] = [
  ['change the name', (client) => client.patch('/auth/me', { name: 'King' }, key)],
  [
    'change the password',
    (client) => client.patch('/auth/me', { password: 'secret-2', currentPassword: password }, key),
  ],
  ['sign out', (client) => client.post('/auth/logout', undefined, key)],
  ['sign out everywhere', (client) => client.post('/auth/logout-all', undefined, key)],
  ['delete the account', (client) => client.delete('/auth/me', key)],
  ['delete the account with its password', (client) => client.call('DELETE', '/auth/me', { password }, key)],
]
for (const [operation, write] of writes) {
  test(`${operation}: a repeat returns the first response, even with the token that the first request revoked`, async () => {
    const ada = await register(a)
    const first = await write(ada)
    expect([first.status, isReplay(first)]).toEqual([200, false])
    for (const at of [ada, ada.at(pair.b.url)]) {
      const again = await write(at)
      expect(replayedParts(again)).toEqual(replayedParts(first))
      expect(isReplay(again)).toBeTrue()
    }
    const otherKey = { 'idempotency-key': 'other' }
    if (operation !== 'change the name')
      expectError(await ada.post('/auth/logout-all', undefined, otherKey), 401)
    expectError(await ada.post('/projects', { name: 'P' }, key), operation === 'change the name' ? 422 : 401)
  })

  test(`${operation}: concurrent repeats write once`, async () => {
    const ada = await register(a)
    const clients = [ada, ada.at(pair.b.url)]
    const all = () => Promise.all(upTo(6).map((n) => write(clients[n % 2]!)))
    const answers = await (operation === 'sign out' ? all() : whileLocked(ada.id, 6, all))
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect([answers[0]!.status, answers.filter((one) => !isReplay(one)).length]).toEqual([200, 1])
  })
}

/** Starts requests while the account's row is locked, so that none of the requests finds a stored response. */
async function whileLocked<T>(id: string, statements: number, send: () => Promise<T>): Promise<T> {
  const unlock = await holdTransaction(pair.sql, (tx) => tx`select from users where id = ${id} for update`)
  const answers = send()
  await untilBlocked(pair.sql, statements)
  await unlock()
  return answers
}
