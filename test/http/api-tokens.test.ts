import { expect, test } from 'bun:test'
import { type Client, make, type Person, register } from '../support/client.ts'
import { eventually, upTo } from '../races/pair.ts'
import { unknownId, anId, aTimestamp, expectError, malformedIds, countStatuses } from './responses.ts'
import { invalidNames } from './texts.ts'
import { openScene } from '../support/scene.ts'

const { client, sql, ada } = await openScene(['Ada'])

const day = 86_400_000
const inDays = (days: number) => new Date(Date.now() + days * day).toISOString()

const wanted = (over: object = {}) => {
  return { name: 'Importer', scopes: ['write'], expiresAt: inDays(30), ...over }
}
type Token = { id: string; token: string; name: string; lastUsedAt: string | null }
const made = async (who: Client, over: object = {}) =>
  (await make(who, '/tokens', wanted(over))) as unknown as Token
const listed = async (who: Client) => (await who.get('/tokens')).body as unknown as Token[]

test('a token is answered whole once, and listed without its secret', async () => {
  const grace = await register(client)
  const date = inDays(300).slice(0, 10)
  const answer = await grace.post('/tokens', wanted({ expiresAt: date }))
  expect(answer.status).toBe(201)
  const { token, ...rest } = answer.body as unknown as Token
  expect(rest).toStrictEqual({
    createdBy: grace.id,
    ...{ id: anId, name: 'Importer', scopes: ['write'], projects: null },
    ...{ expiresAt: `${date}T00:00:00.000Z`, createdAt: aTimestamp, lastUsedAt: null },
  } as never)
  expect(token).toMatch(/^dkt_[0-9A-Za-z]{49}$/)
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect(answer.headers.get('location')).toBe(`/api/v1/tokens/${rest.id}`)
  expect(await listed(grace)).toStrictEqual([rest as Token])
  expect((await grace.as(token).get('/auth/me')).body.id).toBe(grace.id)
})

test('of a token only the digest is stored', async () => {
  const { id, token } = await made(ada)
  const [row] = await sql`select * from api_tokens where id = ${id}`
  expect(JSON.stringify(row)).not.toContain(token.slice(4, 47))
  expect(row!.digest).toBe(new Bun.CryptoHasher('sha256').update(token).digest('hex'))
})

/** What a token cannot have, field by field, and what is said of it. */
const wrongs: [field: string, values: unknown[], message: RegExp][] = [
  ['name', invalidNames(200), /^name /],
  [
    'scopes',
    [[], ['all'], 'read', null, ['read', 'read', 'read', 'read'], [1]],
    /^scopes must be a list of read, write, admin/,
  ],
  [
    'projects',
    [[], 'all', [1], ...malformedIds.map((id) => [id]), upTo(101).map(() => unknownId)],
    /^projects must be a list of 1 to 100 ids/,
  ],
  [
    'expiresAt',
    [null, 7, 'soon', '2027-02-30', '2027-01-31T10:00:00'],
    /^expiresAt must be an ISO 8601 date-time with offset, or a date \(midnight UTC\), in the coming year/,
  ],
  [
    'expiresAt',
    [inDays(-1), inDays(0), inDays(367), '9999-12-31'],
    /^expiresAt must be a time in the coming year$/,
  ],
  ['scopes', [undefined], /^scopes is required/],
  ['expiresAt', [undefined], /^expiresAt is required/],
  ['scope', [['read']], /did you mean scopes/],
]

test.each(wrongs)('a token with a wrong %s is refused', async (field, values, message) => {
  for (const value of values) expectError(await ada.post('/tokens', wanted({ [field]: value })), 400, message)
})

test('what was read can be sent back, and an id in upper case is the same', async () => {
  const { token: _, ...rest } = await made(ada)
  const again = await made(ada, { ...rest, projects: [unknownId.toUpperCase(), unknownId] })
  expect(again).toMatchObject({ projects: [unknownId] } as never)
})

test('tokens are made, seen and ended by who signed in alone', async () => {
  const { id, token } = await made(ada, { scopes: ['read', 'write', 'admin'] })
  const program = ada.as(token)
  for (const answer of [
    await program.post('/tokens', wanted()),
    await program.get('/tokens'),
    await program.delete(`/tokens/${id}`),
    await program.post('/auth/logout'),
    await program.post('/auth/logout-all'),
    await program.patch('/auth/me', { name: 'Eve' }),
    await program.delete('/auth/me'),
  ])
    expectError(answer, 403, 'This needs a sign-in token, not an API token')
  expect((await program.get('/auth/me')).status).toBe(200)
})

test("another's token is not there", async () => {
  const { id, token } = await made(ada)
  const eve = await register(client)
  for (const absent of [id, unknownId, ...malformedIds])
    expectError(await eve.delete(`/tokens/${absent}`), 404, 'Token not found')
  expect(await listed(eve)).toEqual([])
  expect((await ada.as(token).get('/auth/me')).status).toBe(200)
})

test('a token that was ended is refused at once here, and listed no longer', async () => {
  const { id, token } = await made(ada)
  const program = ada.as(token)
  expect((await program.get('/projects')).status).toBe(200)
  const ended = await ada.delete(`/tokens/${id.toUpperCase()}`)
  expect([ended.status, ended.text, ended.headers.get('content-type')]).toEqual([204, '', null])
  for (const path of ['/projects', '/tokens'])
    expectError(await program.get(path), 401, 'The bearer token is not valid')
  expectError(await ada.delete(`/tokens/${id}`), 404, 'Token not found')
  expect((await listed(ada)).map((one) => one.id)).not.toContain(id)
})

const endings: [what: string, status: number, end: (person: Person) => ReturnType<Client['get']>][] = [
  ['signing out everywhere ends', 401, (person) => person.post('/auth/logout-all')],
  [
    'another password ends',
    401,
    (person) => person.patch('/auth/me', { password: 'secret-2', currentPassword: 'secret-1' }),
  ],
  ['deleting the account ends', 401, (person) => person.delete('/auth/me')],
  ['another name keeps', 200, (person) => person.patch('/auth/me', { name: 'King' })],
  ['signing out keeps', 200, (person) => person.post('/auth/logout')],
]
test.each(endings)('%s the API tokens of an account', async (_, status, end) => {
  const person = await register(client)
  const { token } = await made(person)
  expect((await person.as(token).get('/projects')).status).toBe(200)
  expect((await end(person)).status).toBe(200)
  expect((await person.as(token).get('/projects')).status).toBe(status)
  const kept = await sql`select from api_tokens where user_id = ${person.id}`
  expect(kept).toHaveLength(status === 200 ? 1 : 0)
})

test('a token ends when it says, by the clock of the database', async () => {
  const { id, token } = await made(ada, { expiresAt: new Date(Date.now() + 1_500).toISOString() })
  const program = ada.as(token)
  expect((await program.get('/projects')).status).toBe(200)
  await eventually('its end', async () => (await program.get('/projects')).status === 401)
  expect(await sql`select from api_tokens where id = ${id} and expires_at <= now()`).toHaveLength(1)
  expect((await listed(ada)).map((one) => one.id)).not.toContain(id)
})

test('an account has so many tokens and no more, also when many are wanted at once', async () => {
  const person = await register(client)
  const answers = await Promise.all(upTo(110).map(() => person.post('/tokens', wanted())))
  const refused = answers.filter(({ status }) => status !== 201)
  expect(refused).toHaveLength(10)
  for (const one of refused) expectError(one, 409, 'An account has at most 100 tokens')
  const [first] = await listed(person)
  expect((await person.delete(`/tokens/${first!.id}`)).status).toBe(204)
  expect((await person.post('/tokens', wanted())).status).toBe(201)
  // Those that have expired keep no place, before anybody has cleared them.
  await sql`update api_tokens set expires_at = now() - interval '1 minute' where user_id = ${person.id}`
  expect(await listed(person)).toEqual([])
  const more = await Promise.all(upTo(102).map(() => person.post('/tokens', wanted())))
  expect(countStatuses(more)[201]).toBe(100)
  expect(await listed(person)).toHaveLength(100)
  expect(await sql`select from api_tokens where user_id = ${person.id}`).toHaveLength(100)
})

test('when a token was last used is told', async () => {
  const { id, token } = await made(ada)
  const before = Date.now()
  await ada.as(token).get('/projects')
  const used = async () => (await listed(ada)).find((one) => one.id === id)!.lastUsedAt
  await eventually('its use to be told', async () => (await used()) !== null)
  expect(Date.parse((await used())!)).toBeWithin(before - 60_000, Date.now() + 60_000)
})
