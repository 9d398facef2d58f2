import { allPages, anId, aTimestamp, eventually, expectError, invite, make, malformedIds } from '../kit.ts'
import { openScene, register, statuses, unknownId, upTo, withToken } from '../kit.ts'
import type { Client } from '../kit.ts'
import { invalidNames } from './sample-texts.ts'

const { client, sql, ada, guest, owner } = await openScene(['Ada', 'Guest', 'Owner'])

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

test('the secret of a token is in the response that creates it, and neither in the list nor in the database', async () => {
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
  const rows = await sql`select * from api_tokens where id = ${rest.id}`
  expect(rows).toHaveLength(1)
  expect(JSON.stringify(rows)).not.toContain(token.slice(4, 47))
  // A client may send the whole token again: read-only fields are ignored.
  const projects = [unknownId.toUpperCase(), unknownId]
  expect(await createToken(grace, { ...rest, projects })).toMatchObject({ projects: [unknownId] } as never)
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

test('a token expires at expiresAt, by the clock of the database, and the list shows its last use', async () => {
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
  const { id, token } = await createToken(ada, { expiresAt })
  const before = Date.now()
  expect(await status(token)).toBe(200)
  expect(await sql`select from api_tokens where id = ${id} and expires_at = ${expiresAt}`).toHaveLength(1)
  const lastUsed = async () => (await listTokens(ada)).find((one) => one.id === id)!.lastUsedAt
  await eventually('lastUsedAt', async () => (await lastUsed()) !== null)
  expect(Date.parse((await lastUsed())!)).toBeWithin(before - 60_000, Date.now() + 60_000)
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
  expect(await sql`select from api_tokens where user_id = ${person.id}`).toHaveLength(100)
})

test('lists contain only the projects that the token may read, page by page, and have a different ETag', async () => {
  const own = await make(owner, '/projects', { name: 'Own' })
  await make(owner, '/projects', { name: 'Other' })
  await make(owner, '/tasks', { title: 'Here', projectId: own.id })
  const shared = await make(guest, '/projects', { name: 'Shared' })
  await invite(guest, shared.id, owner, 'EDITOR')
  await make(guest, '/tasks', { title: 'There', projectId: shared.id })
  const some = await withToken(owner, { projects: [own.id, shared.id, unknownId] })
  const projects = [own.id, shared.id].sort()
  const list = await some.get('/projects')
  expect(list.body.map(({ id }) => id).sort()).toEqual(projects)
  expect((await allPages(some, '/projects?limit=1')).flatMap(([one]) => one!.id).sort()).toEqual(projects)
  const condition = { 'if-none-match': list.headers.get('etag')! }
  expect((await some.get('/projects', condition)).status).toBe(304)
  await owner.patch(`/projects/${own.id}`, { name: 'Engine 1' })
  expect((await some.get('/projects', condition)).status).toBe(200)
  for (const query of ['', '?sort=dueDate', '?sort=-createdAt&limit=200', '?status=TODO']) {
    const tasks = (await allPages(some, `/tasks${query}`)).flat()
    expect([...new Set(tasks.map(({ projectId }) => projectId))].sort()).toEqual(projects)
  }
})
