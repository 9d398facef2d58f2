import { at, eventually, expectError, expireApiTokens, make, openPair, register, upTo } from '../kit.ts'
import type { Body, Person } from '../kit.ts'
import { expectTokensToEnd, revocationMs } from './ending-tokens.ts'

const pair = await openPair({ READS_PER_MINUTE: '500' })

type Token = Body & { token: string }
const tokenInput = () => ({
  name: 'Follower',
  scopes: ['write'],
  expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
})
const withToken = (person: Person, { token }: Token): Person => ({ ...person, ...person.as(token) })
async function openAccount() {
  const person = await register(pair.atA)
  const created = (await make(person, '/tokens', tokenInput())) as Token
  return { person, created, inA: withToken(person, created), inB: at(withToken(person, created), pair.b) }
}

test('a personal token that is revoked in one process is rejected by all processes within a second', async () => {
  const ends: ((person: Person, tokenId: string) => ReturnType<Person['get']>)[] = [
    (person, tokenId) => person.delete(`/tokens/${tokenId}`),
    (person) => person.post('/auth/logout-all'),
    (person) => person.patch('/auth/me', { password: 'secret-2', currentPassword: 'secret-1' }),
    (person) => person.delete('/auth/me'),
  ]
  const tokens = ends.map(async (end) => {
    const { person, created, inA, inB } = await openAccount()
    return { clients: [inA, inB], end: () => end(person, created.id) }
  })
  await expectTokensToEnd(await Promise.all(tokens), [204, 200, 200, 200])
})

test('deleting a service account, its membership or its project revokes its tokens in all processes, without a worker', async () => {
  type ServiceAccount = Body & { memberId: string }
  const ends = [
    (project: string, { id }: ServiceAccount) => `${project}/service-accounts/${id}`,
    (project: string, { memberId }: ServiceAccount) => `${project}/members/${memberId}`,
    (project: string) => project,
  ]
  const tokens = ends.map(async (pathOf) => {
    const owner = await register(pair.atA)
    const project = `/projects/${(await make(owner, '/projects', { name: 'P' })).id}`
    const account = await make(owner, `${project}/service-accounts`, { name: 'Importer' })
    const path = `${project}/service-accounts/${account.id}/tokens`
    const client = withToken(owner, (await make(owner, path, tokenInput())) as Token)
    const end = () => owner.delete(pathOf(project, account as ServiceAccount))
    return { clients: [client, at(client, pair.b)], end }
  })
  await expectTokensToEnd(await Promise.all(tokens), [200, 200, 200])
})

test('a token that is created while all tokens of its account are revoked is rejected', async () => {
  const { person, created, inA, inB } = await openAccount()
  expect((await inB.get('/auth/me')).status).toBe(200)
  await pair.sql`update users set token_version = token_version + 1 where id = ${person.id}`
  await Bun.sleep(revocationMs)
  for (const one of [inA, inB]) expectError(await one.get('/auth/me'), 401)
  expect(await pair.sql`select from api_tokens where id = ${created.id}`).toHaveLength(1)
})

test('revoking a token closes its streams and long polls in other processes', async () => {
  const { person, created, inB } = await openAccount()
  const { id } = await make(person, '/projects', { name: 'P' })
  const path = `/projects/${id}/events?after=1`
  const held = inB.get(`${path}&wait=25`)
  const stream = await fetch(`${pair.b.url}/api/v1${path}`, {
    headers: { authorization: `Bearer ${created.token}`, accept: 'text/event-stream' },
  })
  expect(stream.status).toBe(200)
  expect((await person.delete(`/tokens/${created.id}`)).status).toBe(204)
  await Bun.sleep(revocationMs)
  await make(person, '/tasks', { title: 'Not for them', projectId: id })
  expectError(await held, 401, 'The bearer token is not valid')
  const text = await stream.text()
  expect(text).toContain('event: end\ndata: {"statusCode":401')
  expect(text).not.toContain('Not for them')
})

test('a token is valid in all processes, and a retry with the same idempotency key returns the same token', async () => {
  const person = await register(pair.atA)
  const key = { 'idempotency-key': 'a token' }
  const body = tokenInput()
  const clients = [person, at(person, pair.b)]
  const answers = await Promise.all(upTo(6).map((n) => clients[n % 2]!.post('/tokens', body, key)))
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
  expect(answers.filter(({ headers }) => !headers.has('idempotency-replayed'))).toHaveLength(1)
  expect(answers.map(({ headers }) => headers.get('location'))).toEqual(
    upTo(6).map(() => `/api/v1/tokens/${answers[0]!.body.id}`),
  )
  expect((await person.get('/tokens')).body).toHaveLength(1)
  const { token } = answers[0]!.body as Token
  for (const client of clients) expect((await client.as(token).get('/auth/me')).status).toBe(200)
  expectError(await clients[1]!.post('/tokens', { ...body, name: 'Other' }, key), 422)
  const rows = await pair.sql`select * from idempotency_keys where scope = ${person.id}`
  expect(rows).toHaveLength(1)
  for (const secret of [token, token.slice(4, 47), token.slice(4, 20)])
    expect(JSON.stringify(rows)).not.toContain(secret)
})

test('a retried deletion of a token gets the stored response, or 401 after its owner has signed out', async () => {
  const { person, created } = await openAccount()
  const key = { 'idempotency-key': 'the end' }
  const end = (user: Person) => user.delete(`/tokens/${created.id}`, key)
  const answers = [await end(person), await end(at(person, pair.b))]
  for (const { status, text } of answers) expect([status, text]).toEqual([204, ''])
  await person.post('/auth/logout')
  await Bun.sleep(revocationMs)
  for (const client of [person, at(person, pair.b)]) expectError(await end(client), 401)
})

test('each token has its own rate limit, shared by all processes', async () => {
  const { person, inA, inB } = await openAccount()
  const other = withToken(person, (await make(person, '/tokens', tokenInput())) as Token)
  const answers = await Promise.all(upTo(600).map((n) => [inA, inB][n % 2]!.get('/auth/me')))
  const done = answers.filter(({ status }) => status === 200).length
  expect(done).toBeWithin(480, 501)
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(600 - done)
  for (const client of [other, person]) expect((await client.get('/auth/me')).status).toBe(200)
})

test('expired tokens are deleted', async () => {
  const { inB, created, person } = await openAccount()
  expect((await inB.get('/auth/me')).status).toBe(200)
  await pair.sql`update api_tokens set expires_at = now() - interval '1 second' where id = ${created.id}`
  await eventually('the rejection of the token', async () => (await inB.get('/auth/me')).status === 401)
  await expireApiTokens(pair.sql, { batchRows: 100, pauseMs: 0 })
  expect(await pair.sql`select from api_tokens where id = ${created.id}`).toHaveLength(0)
  expect((await person.get('/tokens')).text).toBe('[]')
  const living = await openAccount()
  await expireApiTokens(pair.sql, { batchRows: 100, pauseMs: 0 })
  expect(await pair.sql`select from api_tokens where id = ${living.created.id}`).toHaveLength(1)
})
