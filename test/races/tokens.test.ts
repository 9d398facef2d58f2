import { at, eventually, expectError, expireRows, expiresAt, make, makeToken, openPair } from '../kit.ts'
import { register, upTo } from '../kit.ts'
import type { Answer, Body, Person, Token } from '../kit.ts'

const pair = await openPair()
const { atA, b, sql } = pair
/** The documented time after which all processes reject a revoked token. */
const revocationMs = 1_000

const inBoth = (person: Person) => [person, at(person, b)]

async function openAccount() {
  const person = await register(atA)
  const created = await makeToken(person)
  const inA: Person = { ...person, ...person.as(created.token) }
  return { person, created, inA, inB: at(inA, b) }
}

/** Creates a service account with a token in a project; `paths` are those of the account, its membership and the project. */
async function openServiceAccount() {
  const person = await register(atA)
  const project = `/projects/${(await make(person, '/projects', { name: 'P' })).id}`
  const account = await make(person, `${project}/service-accounts`, { name: 'Importer' })
  const path = `${project}/service-accounts/${account.id}`
  const { token } = await makeToken(person, {}, `${path}/tokens`)
  const { memberId } = account as Body & { memberId: string }
  return { person, token, paths: [path, `${project}/members/${memberId}`, project] }
}

const passwords = { password: 'secret-2', currentPassword: 'secret-1' }
/** Ways to end a token of an account. All but the first also end its sign-in token. */
const ends: ((person: Person, tokenId: string) => Promise<Answer>)[] = [
  (person, tokenId) => person.delete(`/tokens/${tokenId}`),
  (person) => person.post('/auth/logout-all'),
  (person) => person.patch('/auth/me', passwords),
  (person) => person.delete('/auth/me'),
]

test('a token that is revoked in one process, in any way, is rejected by all processes within a second, without a worker', async () => {
  const opened: { clients: Person[]; end(): Promise<Answer> }[] = []
  for (const [n, end] of ends.entries()) {
    const { person, created, inA } = await openAccount()
    const clients = [...inBoth(inA), ...(n > 0 ? inBoth(person) : [])]
    opened.push({ clients, end: () => end(person, created.id) })
  }
  for (const n of [0, 1, 2]) {
    const { person, token, paths } = await openServiceAccount()
    opened.push({
      clients: inBoth({ ...person, ...person.as(token) }),
      end: () => person.delete(paths[n]!),
    })
  }
  const leaver = await register(atA)
  opened.push({ clients: inBoth(leaver), end: () => leaver.post('/auth/logout') })
  const found = async () => {
    const answers = opened.flatMap(({ clients }) => clients.map((client) => client.get('/auth/me')))
    return [...new Set((await Promise.all(answers)).map(({ status }) => status))]
  }
  expect(await found()).toEqual([200])
  for (const { status } of await Promise.all(opened.map(({ end }) => end())))
    expect([200, 204]).toContain(status)
  await Bun.sleep(revocationMs)
  expect(await found()).toEqual([401])
})

test('a token that is created while all tokens of its account are revoked is rejected', async () => {
  const { person, created, inA, inB } = await openAccount()
  expect((await inB.get('/auth/me')).status).toBe(200)
  await sql`update users set token_version = token_version + 1 where id = ${person.id}`
  await Bun.sleep(revocationMs)
  for (const one of [inA, inB]) expectError(await one.get('/auth/me'), 401)
  expect(await sql`select from api_tokens where id = ${created.id}`).toHaveLength(1)
})

test('revoking a token closes its streams and long polls in other processes', async () => {
  const { person, created, inB } = await openAccount()
  const { id } = await make(person, '/projects', { name: 'P' })
  const path = `/projects/${id}/events?after=1`
  const held = inB.get(`${path}&wait=25`)
  const headers = { authorization: `Bearer ${created.token}`, accept: 'text/event-stream' }
  const stream = await fetch(`${b.url}/api/v1${path}`, { headers })
  expect(stream.status).toBe(200)
  expect((await person.delete(`/tokens/${created.id}`)).status).toBe(204)
  await Bun.sleep(revocationMs)
  await make(person, '/tasks', { title: 'Not for them', projectId: id })
  expectError(await held, 401, 'The bearer token is not valid')
  const text = await stream.text()
  expect(text).toContain('event: end\ndata: {"statusCode":401')
  expect(text).not.toContain('Not for them')
})

test('a new token is valid in all processes, and repeats of its creation and of its deletion get the stored responses', async () => {
  const person = await register(atA)
  const key = (text: string) => ({ 'idempotency-key': text })
  const body = { name: 'Follower', scopes: ['write'], expiresAt }
  const clients = inBoth(person)
  const answers = await Promise.all(upTo(6).map((n) => clients[n % 2]!.post('/tokens', body, key('one'))))
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
  expect(answers.filter(({ headers }) => !headers.has('idempotency-replayed'))).toHaveLength(1)
  const { id, token } = answers[0]!.body as Token
  for (const { headers } of answers) expect(headers.get('location')).toBe(`/api/v1/tokens/${id}`)
  for (const client of clients) expect((await client.as(token).get('/auth/me')).status).toBe(200)
  const rows = await sql`select * from idempotency_keys where scope = ${person.id}`
  expect(rows).toHaveLength(1)
  for (const secret of [token, token.slice(4, 47), token.slice(4, 20)])
    expect(JSON.stringify(rows)).not.toContain(secret)
  const end = (client: Person) => client.delete(`/tokens/${id}`, key('the end'))
  for (const client of clients) expect(await end(client)).toMatchObject({ status: 204, text: '' })
  await person.post('/auth/logout')
  await Bun.sleep(revocationMs)
  for (const client of clients) expectError(await end(client), 401)
})

test('expired tokens are deleted, and others stay', async () => {
  const accounts = [await openAccount(), await openAccount()] as const
  const [{ created, inB }, living] = accounts
  await sql`update api_tokens set expires_at = now() - interval '1 second' where id = ${created.id}`
  await eventually('the rejection of the token', async () => (await inB.get('/auth/me')).status === 401)
  await expireRows(sql, 'api_tokens', { batchRows: 100, pauseMs: 0 })
  const ids = accounts.map((one) => one.created.id)
  expect(await sql`select id from api_tokens where id = any(${ids})`).toMatchObject([
    { id: living.created.id },
  ])
})
