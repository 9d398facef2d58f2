import { allPages, anId, aTimestamp, createFullProject, eventually, expectError, invite } from '../kit.ts'
import { isReplay, make, malformedIds, openTeam, register, statuses, unknownId, upTo } from '../kit.ts'
import { withToken } from '../kit.ts'
import type { Body, Client, Person } from '../kit.ts'
import { invalidNames } from './sample-texts.ts'
import { openServiceAccount } from './account-scene.ts'
import { endpoints } from './endpoints.ts'

const { client, sql, ada, people, owner, guest } = await openTeam(['Ada', 'Guest'])

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()
const tokenBody = (fields: object = {}) => ({
  ...{ name: 'Importer', scopes: ['write'], expiresAt: inDays(30) },
  ...fields,
})
type Token = { id: string; token: string; name: string; lastUsedAt: string | null }
const createToken = async (owner: Client, fields: object = {}) =>
  (await make(owner, '/tokens', tokenBody(fields))) as unknown as Token
const listTokens = async (owner: Client) => (await owner.get('/tokens')).body as unknown as Token[]
const status = async (token: string) => (await ada.as(token).get('/projects')).status

test('the secret of a token is in the response that creates it, and not in the list', async () => {
  const grace = await register(client)
  const date = inDays(300).slice(0, 10)
  const response = await grace.post('/tokens', tokenBody({ expiresAt: date }))
  expect(response.status).toBe(201)
  const { token, ...rest } = response.body as unknown as Token
  expect(rest).toStrictEqual({
    createdBy: grace.id,
    ...{ id: anId, name: 'Importer', scopes: ['write'], projects: null },
    ...{ expiresAt: `${date}T00:00:00.000Z`, createdAt: aTimestamp, lastUsedAt: null },
  } as never)
  expect(token).toMatch(/^dkt_[0-9A-Za-z]{49}$/)
  expect(response.headers.get('cache-control')).toBe('no-store')
  expect(response.headers.get('location')).toBe(`/api/v1/tokens/${rest.id}`)
  expect(await listTokens(grace)).toStrictEqual([rest as Token])
  expect((await grace.as(token).get('/auth/me')).body.id).toBe(grace.id)
})

test('the database stores the digest of a token, not the token', async () => {
  const { id, token } = await createToken(ada)
  const [row] = await sql`select * from api_tokens where id = ${id}`
  expect(JSON.stringify(row)).not.toContain(token.slice(4, 47))
  expect(row!.digest).toBe(new Bun.CryptoHasher('sha256').update(token).digest('hex'))
})

const scopeLists = [[], ['all'], 'read', null, ['read', 'read', 'read', 'read'], [1]]
const projectLists = [[], 'all', [1], ...malformedIds.map((id) => [id]), upTo(101).map(() => unknownId)]
const aTimeInTheYear =
  /^expiresAt must be an ISO 8601 date-time with offset, or a date \(midnight UTC\), at most one year from now/
const invalid: [field: string, values: unknown[], message: RegExp][] = [
  ['name', invalidNames(200), /^name /],
  ['scopes', scopeLists, /^scopes must be a list of read, write, admin/],
  ['projects', projectLists, /^projects must be a list of 1 to 100 project ids/],
  ['expiresAt', [null, 7, 'soon', '2027-02-30', '2027-01-31T10:00:00'], aTimeInTheYear],
  [
    'expiresAt',
    [inDays(-1), inDays(0), inDays(367), '9999-12-31'],
    /^expiresAt must be in the future, at most one year from now$/,
  ],
  ['scopes', [undefined], /^scopes is required/],
  ['expiresAt', [undefined], /^expiresAt is required/],
  ['scope', [['read']], /did you mean scopes/],
]

test.each(invalid)('creating a token rejects an invalid %s with 400', async (field, values, message) => {
  for (const value of values)
    expectError(await ada.post('/tokens', tokenBody({ [field]: value })), 400, message)
})

test('creating a token ignores read-only fields and converts project ids to lower case', async () => {
  const { token: _, ...rest } = await createToken(ada)
  const copy = await createToken(ada, { ...rest, projects: [unknownId.toUpperCase(), unknownId] })
  expect(copy).toMatchObject({ projects: [unknownId] } as never)
})

test('an API token cannot manage tokens, sign out, or change the account', async () => {
  const { id, token } = await createToken(ada, { scopes: ['read', 'write', 'admin'] })
  const program = ada.as(token)
  for (const response of [
    await program.post('/tokens', tokenBody()),
    await program.get('/tokens'),
    await program.delete(`/tokens/${id}`),
    await program.post('/auth/logout'),
    await program.post('/auth/logout-all'),
    await program.patch('/auth/me', { name: 'Eve' }),
    await program.delete('/auth/me'),
  ])
    expectError(response, 403, 'This needs a sign-in token, not an API token')
  expect((await program.get('/auth/me')).status).toBe(200)
})

test("another account's token is not found", async () => {
  const { id, token } = await createToken(ada)
  const eve = await register(client)
  for (const other of [id, unknownId, ...malformedIds])
    expectError(await eve.delete(`/tokens/${other}`), 404, 'Token not found')
  expect(await listTokens(eve)).toEqual([])
  expect(await status(token)).toBe(200)
})

test('the process that deletes a token rejects it immediately, and the list no longer contains it', async () => {
  const { id, token } = await createToken(ada)
  expect(await status(token)).toBe(200)
  const deleted = await ada.delete(`/tokens/${id.toUpperCase()}`)
  expect([deleted.status, deleted.text, deleted.headers.get('content-type')]).toEqual([204, '', null])
  for (const path of ['/projects', '/tokens'])
    expectError(await ada.as(token).get(path), 401, 'The bearer token is not valid')
  expectError(await ada.delete(`/tokens/${id}`), 404, 'Token not found')
  expect((await listTokens(ada)).map((one) => one.id)).not.toContain(id)
})

const passwordChange = { password: 'secret-2', currentPassword: 'secret-1' }
const accountChanges: [
  title: string,
  status: number,
  change: (person: Person) => ReturnType<Client['get']>,
][] = [
  ['logout-all revokes', 401, (person) => person.post('/auth/logout-all')],
  ['a new password revokes', 401, (person) => person.patch('/auth/me', passwordChange)],
  ['deleting the account revokes', 401, (person) => person.delete('/auth/me')],
  ['a new name keeps', 200, (person) => person.patch('/auth/me', { name: 'King' })],
  ['logout keeps', 200, (person) => person.post('/auth/logout')],
]
test.each(accountChanges)('%s the API tokens of the account', async (_, expected, change) => {
  const person = await register(client)
  const { token } = await createToken(person)
  expect(await status(token)).toBe(200)
  expect((await change(person)).status).toBe(200)
  expect(await status(token)).toBe(expected)
  const rows = await sql`select from api_tokens where user_id = ${person.id}`
  expect(rows).toHaveLength(expected === 200 ? 1 : 0)
})

test('a token expires at expiresAt, by the clock of the database', async () => {
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
  const { id, token } = await createToken(ada, { expiresAt })
  expect(await status(token)).toBe(200)
  expect(await sql`select from api_tokens where id = ${id} and expires_at = ${expiresAt}`).toHaveLength(1)
  await sql`update api_tokens set expires_at = now() - interval '1 second' where id = ${id}`
  await eventually('its expiry', async () => (await status(token)) === 401)
  expect((await listTokens(ada)).map((one) => one.id)).not.toContain(id)
})

test('an account has at most 100 unexpired tokens, also with concurrent creates', async () => {
  const person = await register(client)
  const create = (count: number) => Promise.all(upTo(count).map(() => person.post('/tokens', tokenBody())))
  const rejected = (await create(110)).filter(({ status }) => status !== 201)
  expect(rejected).toHaveLength(10)
  for (const one of rejected) expectError(one, 409, 'An account has at most 100 tokens')
  const [first] = await listTokens(person)
  expect((await person.delete(`/tokens/${first!.id}`)).status).toBe(204)
  expect(statuses(await create(1))).toEqual({ 201: 1 })
  await sql`update api_tokens set expires_at = now() - interval '1 minute' where user_id = ${person.id}`
  expect(await listTokens(person)).toEqual([])
  expect(statuses(await create(102))[201]).toBe(100)
  expect(await listTokens(person)).toHaveLength(100)
  expect(await sql`select from api_tokens where user_id = ${person.id}`).toHaveLength(100)
})

test('the token list shows when each token was last used', async () => {
  const { id, token } = await createToken(ada)
  const before = Date.now()
  await status(token)
  const lastUsed = async () => (await listTokens(ada)).find((one) => one.id === id)!.lastUsedAt
  await eventually('lastUsedAt', async () => (await lastUsed()) !== null)
  expect(Date.parse((await lastUsed())!)).toBeWithin(before - 60_000, Date.now() + 60_000)
})

const own = await createFullProject(people, guest)
const other = await createFullProject(people, guest)

const bindToken = (account: Person, projects: string[]) => withToken(account, { projects })
const bound = await bindToken(owner, [own.projectId])
const idsOf = (rows: Body[]) => rows.map(({ id }) => id)

test.each(endpoints)('$title: a bound token gets 404 in another project', async (endpoint) => {
  const { method, path, body, resource } = endpoint
  expectError(await bound.call(method, path(other), body?.(other)), 404, `${resource} not found`)
})

test.each(endpoints)('$title: a bound token works in its own project', async (endpoint) => {
  const { method, path, body, allowedRoles, status } = endpoint
  const parts = await createFullProject(people, guest)
  const program = await bindToken(people[allowedRoles.at(-1)!], [parts.projectId])
  expect((await program.call(method, path(parts), body?.(parts))).status).toBe(status)
})

test('all rejected writes together have changed nothing', async () => {
  const task = await owner.get(`/tasks/${other.taskId}`)
  expect(task.body).toMatchObject({ title: 'Wheels', status: 'TODO' })
  expect((await owner.get(`/projects/${other.projectId}/members`)).body).toHaveLength(4)
})

test('a bound token cannot create a project, but can read its own account', async () => {
  const message = 'This needs an API token that is not bound to projects'
  expectError(await bound.post('/projects', { name: 'P' }), 403, message)
  expect((await bound.get('/auth/me')).body.id).toBe(owner.id)
})

test('lists contain only the projects that the token may read, page by page, and have a different ETag', async () => {
  const third = await make(owner, '/projects', { name: 'Third' })
  const shared = await make(guest, '/projects', { name: 'Shared' })
  await invite(guest, shared.id, owner, 'EDITOR')
  await make(guest, '/tasks', { title: 'There', projectId: shared.id })
  const some = await bindToken(owner, [own.projectId, shared.id, other.memberId])
  const projects = [own.projectId, shared.id].sort()
  const list = await some.get('/projects')
  expect(idsOf(list.body).sort()).toEqual(projects)
  expect((await allPages(some, '/projects?limit=1')).map(idsOf).flat().sort()).toEqual(projects)
  expect(idsOf((await owner.get('/projects')).body)).toContain(third.id)
  const condition = { 'if-none-match': list.headers.get('etag')! }
  expect((await some.get('/projects', condition)).status).toBe(304)
  await owner.patch(`/projects/${own.projectId}`, { name: 'Engine 1' })
  expect((await some.get('/projects', condition)).status).toBe(200)
  for (const query of ['', '?sort=dueDate', '?sort=-createdAt&limit=200', '?status=TODO']) {
    const tasks = (await allPages(some, `/tasks${query}`)).flat()
    expect([...new Set(tasks.map(({ projectId }) => projectId))].sort()).toEqual(projects)
  }
  expectError(await some.get(`/tasks?projectId=${other.projectId}`), 404, 'Project not found')
  expect((await some.get(`/tasks?projectId=${own.projectId}`)).body).toHaveLength(1)
})

test('a bound token cannot move tasks into or out of another project', async () => {
  const move = (caller: Person, id: string, projectId: string) => caller.patch(`/tasks/${id}`, { projectId })
  expectError(await move(bound, own.taskId, other.projectId), 404, 'Project not found')
  expectError(await move(bound, other.taskId, own.projectId), 404, 'Task not found')
  const both = await bindToken(owner, [own.projectId, other.projectId])
  const { id } = await make(owner, '/tasks', { title: 'Moves', projectId: own.projectId })
  expect((await move(both, id, other.projectId)).status).toBe(200)
  // This process has cached the previous project of the task.
  expectError(await bound.get(`/tasks/${id}`), 404, 'Task not found')
  expectError(await bound.patch(`/tasks/${id}`, { title: 'N' }), 404, 'Task not found')
  expectError(await bound.get(`/tasks/${id}/comments`), 404, 'Task not found')
})

test('a batch of a bound token finds only tasks of its own project', async () => {
  const batch = (projectId: string, id: string) =>
    bound.post(`/projects/${projectId}/batch`, { operations: [{ op: 'task.update', id, title: 'N' }] })
  expectError(await batch(other.projectId, other.taskId), 404, 'Project not found')
  expectError(await batch(own.projectId, other.taskId), 404, 'operations[0]: Task not found')
})

test('the history of a moved task leaves out its time in another project', async () => {
  const { id, createdAt } = await make(owner, '/tasks', { title: 'Moves', projectId: other.projectId })
  await owner.patch(`/tasks/${id}`, { projectId: own.projectId })
  const types = async (reader: Person) =>
    ((await reader.get(`/tasks/${id}/history`)).body as unknown as { type: string }[]).map(({ type }) => type)
  expect(await types(owner)).toEqual(['task.moved_in', 'task.moved_out', 'task.created'])
  expect(await types(bound)).toEqual(['task.moved_in'])
  expect((await owner.get(`/tasks/${id}?asOf=${createdAt}`)).body.projectId).toBe(other.projectId)
  expectError(await bound.get(`/tasks/${id}?asOf=${createdAt}`), 404, 'Task not found')
  await owner.patch(`/tasks/${id}`, { projectId: other.projectId })
  expectError(await bound.get(`/tasks/${id}/history`), 404, 'Task not found')
  for (const path of [`/projects/${other.projectId}?`, `/tasks?projectId=${other.projectId}&`])
    expectError(await bound.get(`${path}asOf=1`), 404, 'Project not found')
})

test('feeds of other projects get 404, also as a stream and as a long poll', async () => {
  for (const query of ['', '?wait=1&after=100000'])
    for (const accept of ['application/json', 'text/event-stream']) {
      const path = `/projects/${other.projectId}/events${query}`
      expectError(await bound.get(path, { accept }), 404, 'Project not found')
    }
})

test('each token of an account has its own idempotency keys', async () => {
  const key = { 'idempotency-key': 'the same' }
  const body = { title: 'Once', projectId: other.projectId }
  expect((await owner.post('/tasks', body, key)).status).toBe(201)
  expectError(await bound.post('/tasks', body, key), 404, 'Project not found')
  const ownBody = { title: 'Once', projectId: own.projectId }
  const [first, retry] = [await bound.post('/tasks', ownBody, key), await bound.post('/tasks', ownBody, key)]
  expect([first.status, retry.text, isReplay(retry)]).toEqual([201, first.text, true])
})

// This file starts no workers, so that no job deletes the tokens.
test.each(['project', 'membership'])(
  'the end of its %s ends the tokens of a service account',
  async (what) => {
    const { projectId, account, program } = await openServiceAccount(people)
    expect((await program.get('/auth/me')).status).toBe(200)
    const path = `/projects/${projectId}${what === 'project' ? '' : `/members/${account.memberId}`}`
    expect((await owner.delete(path)).status).toBe(200)
    await eventually('the rejection', async () => (await program.get('/auth/me')).status === 401)
  },
)
