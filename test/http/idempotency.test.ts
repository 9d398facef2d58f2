import { createFullProject, expectError, expireKeys, holdTransaction, invite, isReplay } from '../kit.ts'
import { make, newId, openClient, openPair, openProject, register, registerTeam } from '../kit.ts'
import { replayedParts, seqOf, statuses, untilBlocked, upTo } from '../kit.ts'
import type { Answer, Client, ServiceProcess } from '../kit.ts'
import { endpoints } from './endpoints.ts'

const used = 'This Idempotency-Key was used for another request'
const pair = await openPair()
const ada = pair.atA
const atB = pair.atB

let keys = 0
const newKey = () => `key-${++keys}`
const withKey = (key: string) => ({ 'idempotency-key': key })

type Write = { client: Client; method: string; path: string; body?: object; headers?: Record<string, string> }

const people = { ...(await registerTeam(ada.as())), owner: ada }
const guest = await register(ada.as())
const task = async () => (await make(ada, '/tasks', { title: 'T', projectId: await project() })).id
const project = async () => (await make(ada, '/projects', { name: 'P' })).id

const writes: Record<string, () => Promise<Write>> = {
  'create a project': async () => ({ client: ada, method: 'POST', path: '/projects', body: { name: 'P' } }),
  'move a task': async () => {
    const body = { projectId: await project() }
    return { client: ada, method: 'PATCH', path: `/tasks/${await task()}`, body }
  },
}
for (const { title, method, path, body, allowedRoles } of endpoints)
  if (method !== 'GET' && !title.includes('webhook'))
    writes[title] = async () => {
      const parts = await createFullProject(people, guest)
      return { client: people[allowedRoles[0]!], method, path: path(parts), body: body?.(parts) }
    }
/** The number of events that a write makes, if it is not one. */
const eventCounts: Record<string, number> = { 'move a task': 2, 'run a batch': 4, 'release a task': 0 }
/** Other bodies, for operations that reject read-only fields. */
const otherBodies: Record<string, object> = {
  'run a batch': { operations: [{ op: 'task.create', title: 'T' }] },
  undo: { seq: seqOf.comment },
  'claim the next task': { leaseSeconds: 61 },
}

const send = ({ client, method, path, body }: Write, key: string, at: ServiceProcess) =>
  client.at(at.url).call(method, path, body, withKey(key))
const countEvents = async () => (await pair.sql`select 1 from events`).length

for (const [title, prepare] of Object.entries(writes)) {
  test(`${title}: a repeat returns the first response and writes nothing`, async () => {
    const write = await prepare()
    const key = newKey()
    const first = await send(write, key, pair.a)
    expect([first.status < 300, isReplay(first)]).toEqual([true, false])
    const before = await countEvents()
    for (const at of [pair.a, pair.b, pair.a]) {
      const again = await send(write, key, at)
      expect(replayedParts(again)).toEqual(replayedParts(first))
      expect(isReplay(again)).toBeTrue()
    }
    const other = { ...write, body: otherBodies[title] ?? { ...write.body, createdAt: null } }
    if (write.body) expectError(await send(other, key, pair.b), 422, used)
    expect(await countEvents()).toBe(before)
  })

  test(`${title}: concurrent repeats at two processes write once`, async () => {
    const write = await prepare()
    const key = newKey()
    const before = await countEvents()
    const answers = await Promise.all(upTo(12).map((n) => send(write, key, n % 2 ? pair.a : pair.b)))
    expect(new Set(answers.map((answer) => JSON.stringify(replayedParts(answer)))).size).toBe(1)
    expect(answers[0]!.status).toBeLessThan(300)
    expect(answers.filter((answer) => !isReplay(answer))).toHaveLength(1)
    expect((await countEvents()) - before).toBe(eventCounts[title] ?? 1)
  })
}

test('rejects a key that was used for another request with 422', async () => {
  const key = withKey(newKey())
  const projectId = await project()
  expect((await ada.post('/tasks', { title: 'T', projectId }, key)).status).toBe(201)
  expectError(await ada.post('/projects', { name: 'P' }, key), 422, used)
  expectError(await ada.patch(`/projects/${projectId}`, { name: 'P' }, key), 422, used)
  expectError(await ada.delete(`/projects/${projectId}`, key), 422, used)
})

test('rejects a key of a dry run, or of a request with another query, with 422', async () => {
  const projectId = await project()
  const { id: taskId } = await make(ada, '/tasks', { title: 'T', projectId })
  const guest = await register(ada.as())
  const { id: memberId } = await invite(ada, projectId, guest)
  const operations = [{ op: 'task.update', id: taskId, title: 'U' }]
  const repeats: [first: string, second: string, method: string, path: string, body?: object][] = [
    ['?dryRun=true', '?dryRun=false', 'POST', `/projects/${projectId}/undo`, { seq: 2 }],
    ['?dryRun=true', '', 'POST', `/projects/${projectId}/batch`, { operations }],
    ['', '?return=full', 'POST', `/projects/${projectId}/batch`, { operations }],
    ['', '?revoke=true', 'DELETE', `/projects/${projectId}/members/${memberId}`],
  ]
  for (const [first, second, method, path, body] of repeats) {
    const key = withKey(newKey())
    expect((await ada.call(method, path + first, body, key)).status).toBe(200)
    expectError(await ada.call(method, path + second, body, key), 422, used)
    expect(isReplay(await ada.call(method, path + first, body, key))).toBe(true)
  }
})

test('returns the first response after the resource is deleted', async () => {
  const [first, second] = [newKey(), newKey()]
  const projectId = await project()
  const create = () => ada.post('/tasks', { title: 'T', projectId }, withKey(first))
  const created = await create()
  const path = `/tasks/${created.body.id}`
  const change = (client: Client) => client.patch(path, { title: 'U' }, withKey(second))
  const changed = await change(ada)
  for (const deleted of [path, `/projects/${projectId}`]) {
    await ada.delete(deleted)
    expect(replayedParts(await create())).toEqual(replayedParts(created))
    expect(replayedParts(await change(atB))).toEqual(replayedParts(changed))
  }
})

test('a repeated update without effect returns the first response after another client changed the task', async () => {
  const path = `/tasks/${await task()}`
  const key = newKey()
  const first = await ada.patch(path, { title: 'T' }, withKey(key))
  await atB.patch(path, { title: 'Other' })
  expect(replayedParts(await ada.patch(path, { title: 'T' }, withKey(key)))).toEqual(replayedParts(first))
  expect((await ada.get(path)).body.title).toBe('Other')
})

interface Scene {
  projectId: string
  taskId: string
  etag: string
}
type RepeatedWrite = (scene: Scene) => Omit<Write, 'client'>

const create = (projectId: string, fields: object = {}) => ({
  method: 'POST',
  path: '/tasks',
  body: { title: 'T', projectId, ...fields },
})

/** Writes of an editor that succeed once. A repeat would fail, in some cases after the editor's role has changed. */
const failing: [status: number, why: string, write: RepeatedWrite, role?: 'VIEWER' | 'none'][] = [
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
  const task = await ada.post('/tasks', { title: 'T', projectId })
  const scene = { projectId, taskId: task.body.id, etag: task.headers.get('etag')! }
  const { method, path, body, headers } = write(scene)
  const send = (key: string, at: ServiceProcess) =>
    people.editor.at(at.url).call(method, path, body, { ...headers, ...withKey(key) })
  const key = newKey()
  const first = await send(key, pair.a)
  expect(first.status).toBeLessThan(300)
  const members = `/projects/${projectId}/members`
  const memberOf = async ({ id }: { id: string }) =>
    `${members}/${(await ada.get(members)).body.find(({ userId }) => userId === id)!.id}`
  if (status === 400) await ada.delete(await memberOf(people.admin))
  if (role === 'none') await ada.delete(await memberOf(people.editor))
  else if (role) await ada.patch(`${await memberOf(people.editor)}/role`, { role })
  for (const at of [pair.a, pair.b]) {
    const repeated = await send(key, at)
    expect([replayedParts(repeated), isReplay(repeated)]).toEqual([replayedParts(first), true])
    expectError(await send(newKey(), at), status)
  }
})

test('while a client repeats one key as fast as it can, other writes of this project and of others succeed', async () => {
  const [shared, other] = [await project(), await project()]
  const key = newKey()
  let isRunning = true
  const answers: Answer[] = []
  const repeat = async (client: Client) => {
    while (isRunning)
      answers.push(await client.post('/tasks', { title: 'R', projectId: shared }, withKey(key)))
  }
  const repeating = upTo(8).map((n) => repeat(n % 2 ? ada : atB))
  const others = upTo(120).map((n) => {
    const body = { title: `T ${n}`, projectId: n % 3 ? shared : other }
    return (n % 2 ? ada : atB).post('/tasks', body, n % 4 ? withKey(newKey()) : {})
  })
  expect(statuses(await Promise.all(others))).toEqual({ 201: 120 })
  isRunning = false
  await Promise.all(repeating)
  expect(new Set(answers.map((answer) => JSON.stringify(replayedParts(answer)))).size).toBe(1)
  expect(answers.filter((answer) => !isReplay(answer))).toHaveLength(1)
})

test('an error is not stored, so a valid request may use the same key', async () => {
  const key = newKey()
  const projectId = await project()
  expectError(await ada.post('/tasks', { projectId }, withKey(key)), 400)
  expectError(await ada.post('/tasks', { title: 'T', projectId: 'none' }, withKey(key)), 404)
  const answer = await ada.post('/tasks', { title: 'T', projectId }, withKey(key))
  expect([answer.status, isReplay(answer)]).toEqual([201, false])
})

test('two accounts may use the same key', async () => {
  const grace = await register(ada.as())
  const key = newKey()
  const hers = await ada.post('/projects', { name: 'P' }, withKey(key))
  const his = await grace.post('/projects', { name: 'P' }, withKey(key))
  expect([hers.status, his.status, isReplay(his)]).toEqual([201, 201, false])
  expect(hers.body.id).not.toBe(his.body.id)
})

test('accepts a key of 1 to 255 printable characters, with or without quotes', async () => {
  const create = (key: string) => ada.post('/projects', { name: 'P' }, withKey(key))
  for (const key of ['', '""', '   ', 'x'.repeat(256), `"${'x'.repeat(256)}"`, 'tab\there', 'ümlaut'])
    expectError(await create(key), 400, /^Idempotency-Key must be /)
  const bare = newKey()
  const first = await create(bare)
  for (const same of [`"${bare}"`, ` ${bare} `])
    expect(replayedParts(await create(same))).toEqual(replayedParts(first))
  const odd = ['"a \\" b \\\\ c"', 'a b', "'; drop table users"]
  for (const key of ['y'.repeat(255), `"${'z'.repeat(255)}"`, ...odd]) {
    expect((await create(key)).status).toBe(201)
    expect(isReplay(await create(key))).toBeTrue()
  }
})

test('deletes stored responses after their retention time', async () => {
  const [old, young] = [newKey(), newKey()]
  const create = (key: string) => ada.post('/projects', { name: 'P' }, withKey(key))
  const [first, second] = [await create(old), await create(young)]
  await pair.sql`update idempotency_keys set created_at = now() - interval '24 hours 1 second' where key = ${old}`
  expect(await expireKeys(pair.sql, 24, { batchRows: 1, pauseMs: 0 })).toBeUndefined()
  expect((await create(old)).body.id).not.toBe(first.body.id)
  expect(replayedParts(await create(young))).toEqual(replayedParts(second))
})

const password = 'secret-1'
const a = openClient(pair.a.url)
const b = openClient(pair.b.url)

let registered = 0
const account = () => ({ name: 'Ada', email: `keyed-${++registered}@example.com`, password })
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

const accountWrites: [operation: string, (client: Client) => Promise<Answer>][] = [
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
for (const [operation, write] of accountWrites) {
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
