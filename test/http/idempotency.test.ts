import { createHash } from 'node:crypto'
import { hash } from '@node-rs/argon2'
import { expectError, expiresAt, forFile, holdTransaction, isReplay, make, openDatabase } from '../kit.ts'
import {
  openTeam,
  openTestService,
  readConfig,
  register,
  replayedParts,
  statuses,
  testSecret,
} from '../kit.ts'
import { unreachableUrl, untilBlocked, upTo } from '../kit.ts'
import type { Answer, Client } from '../kit.ts'

const used = 'This Idempotency-Key was used for another request'
const { service, client, sql, owner } = await openTeam([], {})
const other = await forFile(openTestService(service.env))
const outside = await forFile(openDatabase(readConfig(service.env)))
/** The same user at two services, which share their data. */
const both = (user: Client): [Client, Client] => [user, other.client.as(user.token)]

let keys = 0
const withKey = (key = `key-${++keys}`) => ({ 'idempotency-key': key })
const project = async () => (await make(owner, '/projects', { name: 'P' })).id

/** Expects that each answer repeats the first one. */
function expectRepeats(first: Answer, ...repeats: Answer[]): void {
  expect([first.status < 300, isReplay(first)]).toEqual([true, false])
  for (const one of repeats) expect([replayedParts(one), isReplay(one)]).toEqual([replayedParts(first), true])
}

/** Expects that one of concurrent requests wrote, and that all got one response. Returns the response of the write. */
function expectOneWrite(answers: Answer[]): Answer {
  expect(new Set(answers.map((one) => JSON.stringify(replayedParts(one)))).size).toBe(1)
  expect(answers[0]!.status).toBeLessThan(300)
  const [first, ...more] = answers.filter((one) => !isReplay(one))
  expect(more).toEqual([])
  return first!
}

test('keys of the maximum length are accepted, and longer or empty keys get 400', async () => {
  const create = (key: string) => owner.post('/projects', { name: 'P' }, withKey(key))
  for (const key of ['', '   ', 'x'.repeat(256), `"${'x'.repeat(256)}"`])
    expectError(await create(key), 400, /^Idempotency-Key must be /)
  for (const key of ['y'.repeat(255), `"${'z'.repeat(255)}"`])
    expectRepeats(await create(key), await create(` ${key} `))
})

test('a "?" without parameters does not change the request of a key', async () => {
  const key = withKey()
  const create = (path: string) => owner.post(path, { name: 'P' }, key)
  expectRepeats(await create('/projects?'), await create('/projects'))
})

test('while a client repeats one key as fast as it can, other writes of this project and of others succeed', async () => {
  const [shared, another] = [await project(), await project()]
  const key = withKey()
  let isRunning = true
  const answers: Answer[] = []
  const repeat = async (by: Client) => {
    while (isRunning) answers.push(await by.post('/tasks', { title: 'R', projectId: shared }, key))
  }
  const repeating = upTo(8).map((n) => repeat(both(owner)[n % 2]!))
  const others = upTo(60).map((n) => {
    const body = { title: `T ${n}`, projectId: n % 3 ? shared : another }
    return both(owner)[n % 2]!.post('/tasks', body, n % 4 ? withKey() : {})
  })
  expect(statuses(await Promise.all(others))).toEqual({ 201: 60 })
  isRunning = false
  await Promise.all(repeating)
  expectOneWrite(answers)
})

const password = 'secret-1'
let registered = 0
const account = () => ({ name: 'Ada', email: `keyed-${++registered}@example.com`, password })
const key = withKey('the one key')
const nobody = both(client.as())

test('repeated and concurrent registrations under one key create one account and return one response', async () => {
  const ada = account()
  const answers = await Promise.all(upTo(8).map((n) => nobody[n % 2]!.post('/auth/register', ada, key)))
  const first = expectOneWrite(answers)
  for (const at of nobody) expectRepeats(first, await at.post('/auth/register', ada, key))
  const [, atOther] = both(client.as(first.body.access_token))
  expect((await atOther.get('/auth/me')).body).toEqual(first.body.user)
})

const accountWrites: [operation: string, revokes: boolean, (by: Client) => Promise<Answer>][] = [
  ['change the name', false, (by) => by.patch('/auth/me', { name: 'King' }, key)],
  [
    'change the password',
    true,
    (by) => by.patch('/auth/me', { password: 'secret-2', currentPassword: password }, key),
  ],
  ['sign out', true, (by) => by.post('/auth/logout', undefined, key)],
  ['sign out everywhere', true, (by) => by.post('/auth/logout-all', undefined, key)],
  ['delete the account', true, (by) => by.delete('/auth/me', key)],
  ['delete the account with its password', true, (by) => by.call('DELETE', '/auth/me', { password }, key)],
]

test.each(accountWrites)(
  '%s: concurrent repeats write once, and a repeat returns the first response even if its token is revoked',
  async (operation, revokes, write) => {
    const ada = await register(client)
    const send = () => Promise.all(upTo(6).map((n) => write(both(ada)[n % 2]!)))
    const answers = await (operation === 'sign out' ? send() : whileLocked(ada.id, 6, send))
    const first = expectOneWrite(answers)
    for (const by of both(ada)) expectRepeats(first, await write(by))
    if (revokes) expectError(await ada.post('/auth/logout-all', undefined, withKey()), 401)
    expectError(await ada.post('/projects', { name: 'P' }, key), revokes ? 401 : 422)
  },
)

test('a process that repeats the response of another process to a sign out rejects the token from then on', async () => {
  const ada = await register(client)
  const [here, there] = both(ada)
  const key = withKey()
  expect((await here.get('/projects')).status).toBe(200)
  expectRepeats(
    await there.post('/auth/logout', undefined, key),
    await here.post('/auth/logout', undefined, key),
  )
  expectError(await here.get('/projects'), 401)
})

/** Starts requests while the account's row is locked, so that none of the requests finds a stored response. */
async function whileLocked<T>(id: string, statements: number, send: () => Promise<T>): Promise<T> {
  const unlock = await holdTransaction(
    outside.reads,
    (tx) => tx`select from users where id = ${id} for update`,
  )
  const answers = send()
  await untilBlocked(outside.reads, statements)
  await unlock()
  return answers
}

const recordOf = async (name: string, scope = '') => {
  const [row] = await sql`select * from idempotency_keys where key = ${name} and strpos(scope, ${scope}) > 0`
  return row!
}

test('a stored record contains no password and no token, and only a slow hash of a body with a password', async () => {
  const ada = account()
  const { body } = await client.post('/auth/register', ada, key)
  const row = await recordOf(key['idempotency-key'], ada.email)
  expect(row.fingerprint).toStartWith('$argon2id$')
  for (const secret of [password, body.access_token, body.access_token.split('.')[2]!])
    expect(JSON.stringify(row)).not.toContain(secret)
  const by = client.as(body.access_token)
  const webhooks = `/projects/${(await make(by, '/projects', { name: 'P' })).id}/webhooks`
  const writes: [kind: RegExp, method: string, path: string, body: object][] = [
    [/^hmac-sha256:[\w-]{43}$/, 'POST', '/tokens', { name: 'Importer', scopes: ['read'], expiresAt }],
    [/^hmac-sha256:/, 'PATCH', '/auth/me', { name: 'King' }],
    [/^hmac-sha256:/, 'POST', webhooks, { url: unreachableUrl }],
    [/^\$argon2id\$/, 'PATCH', '/auth/me', { name: 'G', currentPassword: password }],
  ]
  for (const [kind, method, path, sent] of writes) {
    const own = withKey()
    expectRepeats(await by.call(method, path, sent, own), await by.call(method, path, sent, own))
    expect((await recordOf(own['idempotency-key'])).fingerprint).toMatch(kind)
  }
})

test('a record of an earlier release, or of an earlier first secret of JWT_SECRET, still matches', async () => {
  const grace = await register(client)
  const own = withKey()
  const rename = (name: string, by: Client = grace) => by.patch('/auth/me', { name }, own)
  const first = await rename('Before')
  const secrets = `the next secret is long enough too, ${testSecret}`
  const { DATABASE_URL = '', REDIS_URL = '' } = service.env
  await using rotated = await openTestService({ DATABASE_URL, REDIS_URL, JWT_SECRET: secrets })
  const atRotated = rotated.client.as(grace.token)
  expectRepeats(first, await rename('Before', atRotated))
  expectError(await rename('Other', atRotated), 422, used)
  const request = `PATCH /api/v1/auth/me\n${JSON.stringify({ name: 'Before' })}`
  const digest = createHash('sha256').update(request).digest('base64url')
  await sql`update idempotency_keys set fingerprint = ${await hash(digest)} where key = ${own['idempotency-key']}`
  expectRepeats(first, await rename('Before'))
  expectError(await rename('Other'), 422, used)
})
