import { expect, test } from 'bun:test'
import { eventually, openPair, upTo } from '../races/pair.ts'
import { type Answer, type Client, openClient, register } from '../support/client.ts'
import { expectError, isReplay, replayedParts } from './responses.ts'
import { forFile } from '../support/service.ts'

const used = 'This Idempotency-Key was used for another request'
const password = 'secret-1'
const pair = await forFile(openPair())
const a = openClient(pair.a.url)
const b = openClient(pair.b.url)

let people = 0
const account = () => ({ name: 'Ada', email: `keyed-${++people}@example.com`, password })
const key = { 'idempotency-key': 'the one key' }

test('a repeated registration is answered byte for byte, token included', async () => {
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

test('registrations at once under one key make one account and get one answer', async () => {
  const ada = account()
  const answers = await Promise.all(upTo(8).map((n) => (n % 2 ? a : b).post('/auth/register', ada, key)))
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
  expect([answers[0]!.status, answers.filter((one) => !isReplay(one)).length]).toEqual([201, 1])
})

test('another body under the key is refused, and the key of another address is another', async () => {
  const ada = account()
  await a.post('/auth/register', ada, key)
  for (const other of [{ password: 'secret-2' }, { name: 'Eve' }, { id: 'x' }])
    expectError(await b.post('/auth/register', { ...ada, ...other }, key), 422, used)
  expectError(await b.post('/auth/login', { email: ada.email, password }, key), 422, used)
  expectError(await b.post('/auth/register', ada), 409)
  expectError(await b.post('/auth/register', ada, { 'idempotency-key': 'new' }), 409)
  expect((await b.post('/auth/register', account(), key)).status).toBe(201)
})

test('what is kept holds neither password, nor token, nor a fast digest of either', async () => {
  const ada = account()
  const { body } = await a.post('/auth/register', ada, key)
  const rows = await pair.sql`select * from idempotency_keys where scope = ${`email:${ada.email}`}`
  expect(rows).toHaveLength(1)
  expect(rows[0]!.fingerprint).toStartWith('$argon2id$')
  for (const secret of [password, body.access_token, body.access_token.split('.')[2]!])
    expect(JSON.stringify(rows)).not.toContain(secret)
})

test('a bad key is refused before anything is done, and a refused registration is not kept', async () => {
  const ada = account()
  expectError(await a.post('/auth/register', ada, { 'idempotency-key': '""' }), 400, /Idempotency-Key/)
  expectError(await a.post('/auth/register', { ...ada, password: '1' }, key), 400)
  expect((await a.post('/auth/register', ada, key)).status).toBe(201)
})

test('a repeated sign-in is answered with the same token', async () => {
  const ada = account()
  await a.post('/auth/register', ada)
  const other = { 'idempotency-key': 'in' }
  expectError(await a.post('/auth/login', { ...ada, password: 'wrong' }, other), 401)
  const first = await a.post('/auth/login', ada, other)
  expect(replayedParts(await b.post('/auth/login', ada, other))).toEqual(replayedParts(first))
  expectError(await b.post('/auth/login', { ...ada, password: 'wrong' }, other), 422, used)
})

const writes: [does: string, (who: Client) => Promise<Answer>][] = [
  ['a name', (who) => who.patch('/auth/me', { name: 'King' }, key)],
  ['a password', (who) => who.patch('/auth/me', { password: 'secret-2', currentPassword: password }, key)],
  ['signing out', (who) => who.post('/auth/logout', undefined, key)],
  ['signing out everywhere', (who) => who.post('/auth/logout-all', undefined, key)],
  ['deleting it', (who) => who.delete('/auth/me', key)],
  ['deleting it by its password', (who) => who.call('DELETE', '/auth/me', { password }, key)],
]
for (const [does, write] of writes) {
  test(`${does}: a repeat is answered, also with the token that the first one ended`, async () => {
    const ada = await register(a)
    const first = await write(ada)
    expect([first.status, isReplay(first)]).toEqual([200, false])
    for (const at of [ada, ada.at(pair.b.url)]) {
      const again = await write(at)
      expect(replayedParts(again)).toEqual(replayedParts(first))
      expect(isReplay(again)).toBeTrue()
    }
    const others = { 'idempotency-key': 'other' }
    if (does !== 'a name') expectError(await ada.post('/auth/logout-all', undefined, others), 401)
    expectError(await ada.post('/projects', { name: 'P' }, key), does === 'a name' ? 422 : 401)
  })

  test(`${does}: repeats at once are done once`, async () => {
    const ada = await register(a)
    const clients = [ada, ada.at(pair.b.url)]
    const all = () => Promise.all(upTo(6).map((n) => write(clients[n % 2]!)))
    // At the row they meet before any of them can have seen the answer of another.
    const answers = await (does === 'signing out' ? all() : meetingAtTheRow(ada.id, 6, all))
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect([answers[0]!.status, answers.filter((one) => !isReplay(one)).length]).toEqual([200, 1])
  })
}

/** Runs `work` with the account's row locked until so many statements wait for it. */
async function meetingAtTheRow<T>(id: string, statements: number, work: () => Promise<T>): Promise<T> {
  const { answers } = await pair.sql.begin(async (sql) => {
    await sql`select from users where id = ${id} for update`
    const answers = work()
    await eventually('all at the row', async () => {
      const [row] = await pair.sql`
        select count(*)::int4 as waiting from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`
      return row!.waiting === statements
    })
    return { answers } // not awaited here: they end after this transaction
  })
  return answers
}
