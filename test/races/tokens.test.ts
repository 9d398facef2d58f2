import { at, eventually, expectError, expireApiTokens, make, openPair, register, upTo } from '../kit.ts'
import type { Answer, Body, Person } from '../kit.ts'

const pair = await openPair({ READS_PER_MINUTE: '500' })
const { atA, b, sql } = pair
/** The documented time after which all processes reject a revoked token. */
const revocationMs = 1_000

type Token = Body & { token: string }
const tokenInput = () => ({
  ...{ name: 'Follower', scopes: ['write'] },
  expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
})
const withToken = (person: Person, { token }: Token): Person => ({ ...person, ...person.as(token) })
async function openAccount() {
  const person = await register(atA)
  const created = (await make(person, '/tokens', tokenInput())) as Token
  return { person, created, inA: withToken(person, created), inB: at(withToken(person, created), b) }
}

/** Creates a service account with a token in a project. */
async function openServiceAccount() {
  const person = await register(atA)
  const project = `/projects/${(await make(person, '/projects', { name: 'P' })).id}`
  const account = await make(person, `${project}/service-accounts`, { name: 'Importer' })
  const path = `${project}/service-accounts/${account.id}`
  const created = (await make(person, `${path}/tokens`, tokenInput())) as Token
  const { memberId } = account as Body & { memberId: string }
  return { person, created, project, path, member: `${project}/members/${memberId}` }
}

type Ended = { person: Person; created: Token; end(): Promise<Answer> }
const ofAccount = (end: (person: Person, tokenId: string) => Promise<Answer>) => async () => {
  const account = await openAccount()
  return { ...account, end: () => end(account.person, account.created.id) }
}
const ofService = (pathOf: (one: Awaited<ReturnType<typeof openServiceAccount>>) => string) => async () => {
  const account = await openServiceAccount()
  return { ...account, end: () => account.person.delete(pathOf(account)) }
}
/** Ways to end tokens, and whether the sign-in token of the account ends too. */
const ends: [open: () => Promise<Ended>, endsSignIn: boolean][] = [
  [ofAccount((person, tokenId) => person.delete(`/tokens/${tokenId}`)), false],
  [ofAccount((person) => person.post('/auth/logout-all')), true],
  [
    ofAccount((person) => person.patch('/auth/me', { password: 'secret-2', currentPassword: 'secret-1' })),
    true,
  ],
  [ofAccount((person) => person.delete('/auth/me')), true],
  [ofService(({ path }) => path), false],
  [ofService(({ member }) => member), false],
  [ofService(({ project }) => project), false],
]

test('a token that is revoked in one process, in any way, is rejected by all processes within a second, without a worker', async () => {
  const opened = await Promise.all(
    ends.map(async ([open, endsSignIn]) => {
      const one = await open()
      const clients = [withToken(one.person, one.created), ...(endsSignIn ? [one.person] : [])]
      return { ...one, clients: clients.flatMap((client) => [client, at(client, b)]) }
    }),
  )
  // Signing out ends only the sign-in token.
  const leaver = await register(atA)
  opened.push({ ...opened[0]!, clients: [leaver, at(leaver, b)], end: () => leaver.post('/auth/logout') })
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
  const body = tokenInput()
  const clients = [person, at(person, b)]
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

test('each token has its own rate limit, shared by all processes', async () => {
  const { person, inA, inB } = await openAccount()
  const other = withToken(person, (await make(person, '/tokens', tokenInput())) as Token)
  const answers = await Promise.all(upTo(600).map((n) => [inA, inB][n % 2]!.get('/auth/me')))
  const done = answers.filter(({ status }) => status === 200).length
  expect(done).toBeWithin(480, 501)
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(600 - done)
  for (const client of [other, person]) expect((await client.get('/auth/me')).status).toBe(200)
})

test('expired tokens are deleted, and others stay', async () => {
  const accounts = [await openAccount(), await openAccount()] as const
  const [{ created, inB }, living] = accounts
  await sql`update api_tokens set expires_at = now() - interval '1 second' where id = ${created.id}`
  await eventually('the rejection of the token', async () => (await inB.get('/auth/me')).status === 401)
  await expireApiTokens(sql, { batchRows: 100, pauseMs: 0 })
  const ids = accounts.map((one) => one.created.id)
  expect(await sql`select id from api_tokens where id = any(${ids})`).toMatchObject([
    { id: living.created.id },
  ])
})
