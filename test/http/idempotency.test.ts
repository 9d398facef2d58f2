import { createHash } from 'node:crypto'
import { hash } from '@node-rs/argon2'
import { expectError, expiresAt, forFile, holdTransaction, invite, isReplay, make, newId } from '../kit.ts'
import { openDatabase, openProject, openTeam, openTestService, readConfig, register } from '../kit.ts'
import { replayedParts, statuses, testSecret, unreachableUrl, untilBlocked, upTo } from '../kit.ts'
import type { Answer, Client } from '../kit.ts'

const used = 'This Idempotency-Key was used for another request'
const { service, client, sql, people, owner, editor, guest } = await openTeam(['Guest'], {})
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

/** Expects that one of concurrent requests wrote, and that all got one response. */
function expectOneWrite(answers: Answer[]): void {
  expect(new Set(answers.map((one) => JSON.stringify(replayedParts(one)))).size).toBe(1)
  expect(answers[0]!.status).toBeLessThan(300)
  expect(answers.filter((one) => !isReplay(one))).toHaveLength(1)
}

test('rejects a key that was used for another request with 422', async () => {
  const projectId = await project()
  const { id: taskId } = await make(owner, '/tasks', { title: 'T', projectId })
  const { id: memberId } = await invite(owner, projectId, guest)
  const [tasks, at] = ['/tasks', `/projects/${projectId}`]
  const operations = [{ op: 'task.update', id: taskId, title: 'U' }]
  type Sent = [method: string, path: string, body?: object]
  const batch = (query: string): Sent => ['POST', `${at}/batch${query}`, { operations }]
  const undo = (query: string): Sent => ['POST', `${at}/undo${query}`, { seq: 2 }]
  const create = (title: string): Sent => ['POST', tasks, { title, projectId }]
  const groups: [first: Sent, ...others: Sent[]][] = [
    [
      create('T'),
      create('T '),
      ['POST', '/projects', { name: 'P' }],
      ['PATCH', at, { name: 'P' }],
      ['DELETE', at],
    ],
    [undo('?dryRun=true'), undo('?dryRun=false')],
    [batch('?dryRun=true'), batch('')],
    [batch(''), batch('?return=full')],
    [
      ['DELETE', `${at}/members/${memberId}`],
      ['DELETE', `${at}/members/${memberId}?revoke=true`],
    ],
  ]
  const send = ([method, path, body]: Sent, key: object) => owner.call(method, path, body, { ...key })
  for (const [first, ...others] of groups) {
    const key = withKey()
    const answer = await send(first, key)
    for (const one of others) expectError(await send(one, key), 422, used)
    expectRepeats(answer, await send(first, key))
  }
})

test('returns the first response after the resource has changed or is deleted', async () => {
  const [key, second, third] = [withKey(), withKey(), withKey()]
  const projectId = await project()
  const create = () => owner.post('/tasks', { title: 'T', projectId }, key)
  const created = await create()
  const path = `/tasks/${created.body.id}`
  const change = (by: Client, title: string, one: object) => by.patch(path, { title }, { ...one })
  const unchanged = await change(owner, 'T', second)
  const changed = await change(owner, 'U', third)
  for (const deleted of ['', path, `/projects/${projectId}`]) {
    if (deleted) await owner.delete(deleted)
    expectRepeats(created, await create())
    for (const by of both(owner)) expectRepeats(unchanged, await change(by, 'T', second))
    for (const by of both(owner)) expectRepeats(changed, await change(by, 'U', third))
    if (!deleted) expect((await owner.get(path)).body.title).toBe('U')
  }
})

interface Written {
  projectId: string
  taskId: string
  etag: string
}
type Request = { method: string; path: string; body?: object; headers?: Record<string, string> }
const create = (projectId: string, fields: object = {}) => ({
  method: 'POST',
  path: '/tasks',
  body: { title: 'T', projectId, ...fields },
})

/** Writes of an editor that succeed once. A repeat would fail, in some cases after the editor's role has changed. */
const failing: [status: number, why: string, write: (at: Written) => Request, role?: 'VIEWER' | 'none'][] = [
  [400, 'its assignee has left', ({ projectId }) => create(projectId, { assigneeId: people.admin.id })],
  [403, 'its caller has lost the role', ({ projectId }) => create(projectId), 'VIEWER'],
  [404, 'its caller has left', ({ projectId }) => create(projectId), 'none'],
  [404, 'it deleted its task', ({ taskId }) => ({ method: 'DELETE', path: `/tasks/${taskId}` })],
  [409, 'it used its id', ({ projectId }) => create(projectId, { id: newId() })],
  [
    412,
    'it changed the ETag',
    ({ taskId, etag }) => ({
      ...{ method: 'PATCH', path: `/tasks/${taskId}`, body: { title: 'U' } },
      headers: { 'if-match': etag },
    }),
  ],
]

test.each(failing)('a repeat that would get %d because %s returns the first response', async (...row) => {
  const [status, , write, role] = row
  const projectId = await openProject(people)
  const task = await owner.post('/tasks', { title: 'T', projectId })
  const { method, path, body, headers } = write({
    ...{ projectId, taskId: task.body.id, etag: task.headers.get('etag')! },
  })
  const send = (key: object, by: Client) => by.call(method, path, body, { ...headers, ...key })
  const key = withKey()
  const first = await send(key, editor)
  const members = `/projects/${projectId}/members`
  const memberOf = async ({ id }: { id: string }) =>
    `${members}/${(await owner.get(members)).body.find(({ userId }) => userId === id)!.id}`
  if (status === 400) await owner.delete(await memberOf(people.admin))
  if (role === 'none') await owner.delete(await memberOf(editor))
  else if (role) await owner.patch(`${await memberOf(editor)}/role`, { role })
  for (const by of both(editor)) {
    expectRepeats(first, await send(key, by))
    expectError(await send(withKey(), by), status)
  }
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

test('an error is not stored, so a valid request may use the same key, and so may another account', async () => {
  const key = withKey()
  const projectId = await project()
  expectError(await owner.post('/tasks', { projectId }, key), 400)
  expectError(await owner.post('/tasks', { title: 'T', projectId: 'none' }, key), 404)
  const answer = await owner.post('/tasks', { title: 'T', projectId }, key)
  expect([answer.status, isReplay(answer)]).toEqual([201, false])
  const [hers, his] = [
    await guest.post('/projects', { name: 'P' }, key),
    await editor.post('/projects', { name: 'P' }, key),
  ]
  expect([hers.status, his.status, isReplay(his), hers.body.id === his.body.id]).toEqual([
    201,
    201,
    false,
    false,
  ])
})

test('accepts a key of 1 to 255 printable characters, with or without quotes', async () => {
  const create = (key: string) => owner.post('/projects', { name: 'P' }, withKey(key))
  for (const key of ['', '""', '   ', 'x'.repeat(256), `"${'x'.repeat(256)}"`, 'tab\there', 'ümlaut'])
    expectError(await create(key), 400, /^Idempotency-Key must be /)
  const first = await create('bare')
  expectRepeats(first, await create('"bare"'), await create(' bare '))
  const odd = ['"a \\" b \\\\ c"', 'a b', "'; drop table users"]
  for (const key of ['y'.repeat(255), `"${'z'.repeat(255)}"`, ...odd])
    expectRepeats(await create(key), await create(key))
})

const password = 'secret-1'
let registered = 0
const account = () => ({ name: 'Ada', email: `keyed-${++registered}@example.com`, password })
const key = withKey('the one key')
const nobody = both(client.as())

test('repeated and concurrent registrations under one key create one account and return one response', async () => {
  const ada = account()
  const answers = await Promise.all(upTo(8).map((n) => nobody[n % 2]!.post('/auth/register', ada, key)))
  expectOneWrite(answers)
  const first = answers.find((one) => !isReplay(one))!
  for (const at of nobody) expectRepeats(first, await at.post('/auth/register', ada, key))
  const [, atOther] = both(client.as(first.body.access_token))
  expect((await atOther.get('/auth/me')).body).toEqual(first.body.user)
})

test('a key belongs to an e-mail address and to one body of a registration or sign-in', async () => {
  const [a, b] = nobody
  const ada = account()
  expectError(await a.post('/auth/register', ada, withKey('""')), 400, /Idempotency-Key/)
  expectError(await a.post('/auth/register', { ...ada, password: '1' }, key), 400)
  expect((await a.post('/auth/register', ada, key)).status).toBe(201)
  for (const more of [{ password: 'secret-2' }, { name: 'Eve' }, { id: 'x' }])
    expectError(await b.post('/auth/register', { ...ada, ...more }, key), 422, used)
  expectError(await b.post('/auth/login', { email: ada.email, password }, key), 422, used)
  for (const headers of [{}, withKey()]) expectError(await b.post('/auth/register', ada, headers), 409)
  expect((await b.post('/auth/register', account(), key)).status).toBe(201)
  const own = withKey()
  expectError(await a.post('/auth/login', { ...ada, password: 'wrong' }, own), 401)
  const signedIn = await a.post('/auth/login', ada, own)
  expectRepeats(signedIn, await b.post('/auth/login', ada, own))
  expectError(await b.post('/auth/login', { ...ada, password: 'wrong' }, own), 422, used)
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
    expectOneWrite(answers)
    const first = answers.find((one) => !isReplay(one))!
    for (const by of both(ada)) expectRepeats(first, await write(by))
    if (revokes) expectError(await ada.post('/auth/logout-all', undefined, withKey()), 401)
    expectError(await ada.post('/projects', { name: 'P' }, key), revokes ? 401 : 422)
  },
)

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
