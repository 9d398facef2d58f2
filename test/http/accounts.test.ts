import { openMailScene } from '../mail/scene.ts'
import { claimsOf, closeAccount, eventually, expectError, expectResponse, expireKeys } from '../kit.ts'
import { expireRows, faultsOf, forFile, freshRedis, holdTransaction, invite, make } from '../kit.ts'
import { makeToken, openScene, openTestService } from '../kit.ts'
import { orphanSearches, queueOrphanJobs, register, signToken, statuses, testSecret } from '../kit.ts'
import { untilBlocked, untilRedisReady, upTo } from '../kit.ts'
import type { Client, Sql } from '../kit.ts'
import { rowsWith, untilOutboxEmpty } from '../workers/remains.ts'
import { invalidNames, validTexts } from './sample-texts.ts'

const password = 'secret-1'
const { service, sql, client } = await openScene()

const signIn = (email: string, secret = password, client: Client = service.client) =>
  client.post('/auth/login', { email, password: secret })
const me = (client: Client) => client.get('/auth/me')
const meStatus = async (client: Client) => (await me(client)).status

async function expectInvalid(...clients: Client[]): Promise<void> {
  for (const client of clients) expectError(await me(client), 401, 'The bearer token is not valid')
}

test('PATCH /auth/me trims and stores a name of 1 to 200 characters', async () => {
  const ada = await register(service.client, 'Ada')
  for (const [name, stored] of validTexts(200)) {
    const user = { id: ada.id, name: stored, email: ada.email, emailVerified: false }
    const response = await ada.patch('/auth/me', { name })
    expectResponse(response, 200, user)
    const read = await me(ada)
    expectResponse(read, 200, user)
    expect(response.headers.get('etag')).toBe(read.headers.get('etag'))
  }
  for (const name of invalidNames(200)) expectError(await ada.patch('/auth/me', { name }), 400, /^name /)
})

test('exactly one of several concurrent password changes succeeds', async () => {
  const ada = await register(service.client)
  const responses = await Promise.all(
    upTo(6).map((n) => ada.patch('/auth/me', { password: `secret-1${n}`, currentPassword: password })),
  )
  const { 200: succeeded, 401: invalid = 0, 403: wrong = 0 } = statuses(responses)
  expect([succeeded, invalid + wrong]).toEqual([1, 5])
  const winner = responses.findIndex(({ status }) => status === 200)
  expect((await signIn(ada.email, `secret-1${winner + 1}`)).status).toBe(200)
})

test('a request whose token is revoked after its check changes nothing', async () => {
  const ada = await register(service.client)
  expect(await meStatus(ada)).toBe(200)
  // The statement of the request waits for the row, whose version changes meanwhile.
  const revoke = await holdTransaction(
    sql,
    (tx) => tx`update users set token_version = token_version + 1 where id = ${ada.id}`,
  )
  const changed = ada.patch('/auth/me', { name: 'Changed' })
  await untilBlocked(service.services.database.reads)
  await revoke()
  expectError(await changed, 401)
  expect(await sql`select from users where name = 'Changed'`).toHaveLength(0)
})

test('other processes reject a revoked token, even if Redis loses its data', async () => {
  const redis = await freshRedis()
  await forFile({ close: () => redis.stop() })
  await using a = await openTestService({ REDIS_URL: redis.url })
  await using b = await openTestService(a.env)
  for (const one of [a, b]) await untilRedisReady(one)
  const atA = await register(a.client)
  const [first, second] = [atA, a.client.as((await signIn(atA.email, password, a.client)).body.access_token)]
  const atB = ({ token }: Client) => b.client.as(token)
  for (const one of [first, second]) expect(await meStatus(atB(one))).toBe(200)
  await first.post('/auth/logout')
  await eventually('the rejection of the token at B', async () => (await meStatus(atB(first))) === 401)
  expect(await meStatus(second)).toBe(200)
  await atB(second).post('/auth/logout-all')
  redis.kill()
  await eventually('the rejection of the second token at A', async () => (await meStatus(second)) === 401)
  await redis.restart()
  await expectInvalid(first, second, atB(first), atB(second))
})

test('tokens are signed with the first secret of JWT_SECRET and verified with all secrets', async () => {
  const [fresh, foreign] = ['the next secret is long enough too', 'a secret that the service does not know']
  await using rotated = await openTestService({ JWT_SECRET: `${fresh}, ${testSecret}` })
  const ada = await register(rotated.client)
  for (const [secret, status] of [
    [testSecret, 200],
    [fresh, 200],
    [foreign, 401],
  ] as const)
    expect(await meStatus(ada.as(signToken(claimsOf(ada.id), secret)))).toBe(status)
  const claims = JSON.parse(Buffer.from(ada.token!.split('.')[1]!, 'base64url').toString())
  const signed = (secret: string) => signToken(claims, secret).split('.')[2]
  expect([fresh, testSecret].map((secret) => ada.token!.endsWith(signed(secret)!))).toEqual([true, false])
})

test('the cleanup deletes revoked tokens only after they expire', async () => {
  const ada = await register(service.client)
  await ada.post('/auth/logout')
  const countRevoked = async () => (await sql`select 1 from revoked_tokens`).length
  const before = await countRevoked()
  await sql`insert into revoked_tokens (jti, expires_at)
    select gen_random_uuid(), now() - interval '1 s' from generate_series(1, 5)`
  await expireRows(sql, 'revoked_tokens', { batchRows: 2, pauseMs: 0 })
  expect(await countRevoked()).toBe(before)
  await expectInvalid(ada)
})

service.startWorkers()

const deleted = { message: 'Account deleted successfully' }
const batchOptions = { batchRows: 10, pauseMs: 0 }

/** Returns the number of jobs that the searches have added. */
async function closeOrphanedAccounts(sql: Sql): Promise<number> {
  for (const search of [orphanSearches.projects, orphanSearches.members])
    await queueOrphanJobs(sql, search, batchOptions)
  return (await sql`select from outbox where name = 'close-account'`).length
}

/** Creates a project of Ada, and a project of Grace in which Ada is a member with a task and a comment. */
async function createAccounts(from = client) {
  const [ada, grace] = await Promise.all([register(from), register(from)])
  const own = await make(ada, '/projects', { name: 'Mine' })
  await invite(ada, own.id, grace, 'EDITOR')
  const shared = await make(grace, '/projects', { name: 'Ours' })
  await invite(grace, shared.id, ada, 'EDITOR')
  const task = await make(ada, '/tasks', { title: 'T', projectId: shared.id, assigneeId: ada.id })
  const comment = await make(ada, `/tasks/${task.id}/comments`, { text: 'Hm' })
  return { ada, grace, own, shared, task, comment }
}

const removals = (projectId: string, at = sql) => at<{ actor: string }[]>`
  select actor_id as actor from events where type = 'member.removed' and project_id = ${projectId}`

test('a deleted account can no longer sign in; its projects and memberships end, and its comments stay without an author', async () => {
  const { ada, grace, own, shared, task, comment } = await createAccounts()
  const path = `/tasks/${task.id}/comments`
  const before = await grace.get(path)
  expectResponse(before, 200, [{ ...comment, authorRemoved: false }])
  expectResponse(await ada.delete('/auth/me'), 200, deleted)
  const after = await grace.get(path, { 'if-none-match': before.headers.get('etag')! })
  expectResponse(after, 200, [{ ...comment, author: null, authorRemoved: true }])
  for (const answer of [await ada.get('/auth/me'), await ada.delete('/auth/me')]) expectError(answer, 401)
  const account = { name: 'Ada', email: ada.email, password: 'secret-1' }
  expectError(await ada.post('/auth/login', account), 401, 'Wrong email or password')
  const second = await make(client, '/auth/register', account)
  expect(second.user.id).not.toBe(ada.id)
  await untilOutboxEmpty(sql)
  for (const { id } of [own, shared])
    expectError(await client.as(second.access_token).get(`/projects/${id}`), 404)
  expectError(await grace.get(`/projects/${own.id}`), 404)
  expectResponse(await grace.get(`/projects/${shared.id}/members`), 200, [])
  expect((await grace.get(`/tasks/${task.id}`)).body.assigneeId).toBeNull()
  expect(await removals(shared.id)).toEqual([{ actor: ada.id }] as never)
  expect(await faultsOf(sql)).toEqual([])
})

test('the deletion job can run several times, affects no existing account, and the cleanup repeats it after late writes', async () => {
  await using service = await openTestService()
  const sql = service.services.database.background
  const { ada, grace, own, shared } = await createAccounts(service.client)
  const close = () => closeAccount(sql, service.services.run, { userId: ada.id }, batchOptions)
  await close()
  expect((await ada.get(`/projects/${own.id}`)).status).toBe(200)
  await sql`delete from users where id = ${ada.id}`
  await Promise.all([close(), close(), close()])
  expect(await removals(shared.id, sql)).toHaveLength(1)
  expectError(await grace.get(`/projects/${own.id}`), 404)
  expectResponse(await grace.get(`/projects/${shared.id}/members`), 200, [])

  const { ada: second, own: other } = await createAccounts(service.client)
  await sql`delete from users where id = ${second.id}`
  expect(await closeOrphanedAccounts(sql)).toBe(1)
  service.startWorkers()
  await untilOutboxEmpty(sql)
  expect(await sql`select 1 from projects where id = ${other.id}`).toHaveLength(0)
  expect(await sql`select 1 from members where user_id = ${second.id}`).toHaveLength(0)
  expect(await closeOrphanedAccounts(sql)).toBe(0)
})

test('one statement deletes the account and inserts its deletion job', async () => {
  const { ada } = await createAccounts()
  await sql`alter table outbox add constraint broken check (name <> 'close-account')`
  try {
    expectError(await ada.delete('/auth/me'), 500)
    expect((await ada.get('/auth/me')).status).toBe(200)
  } finally {
    await sql`alter table outbox drop constraint broken`
  }
  expectResponse(await ada.delete('/auth/me'), 200, deleted)
  await untilOutboxEmpty(sql)
})

test('after the deletion of an account, no table has its email address, besides stored replies to other accounts', async () => {
  await using scene = await openMailScene()
  const { client, server, sql, service } = scene
  const email = 'ada.lovelace@example.com'
  const keyed = (name: string) => ({ 'idempotency-key': name })
  const account = { name: 'Ada', email, password: 'secret-1' }
  const { body } = await client.post('/auth/register', account, keyed('register'))
  const ada = { ...client.as(body.access_token), id: body.user.id, email }
  await client.post('/auth/login', account, keyed('login'))
  await client.post('/auth/email/verify', { token: (await server.mail(email)).token }, keyed('verify'))
  await client.post('/auth/password/forgot', { email }, keyed('forgot'))
  await server.mail(email, 2)
  const grace = await register(client)
  const own = await make(ada, '/projects', { name: 'Mine' })
  await ada.post('/projects', { name: 'Keyed' }, keyed('project'))
  const token = client.as((await makeToken(ada)).token)
  await token.patch(`/projects/${own.id}`, { name: 'Ours' }, keyed('rename'))
  const shared = await make(grace, '/projects', { name: 'Ours' })
  await grace.post(`/projects/${shared.id}/members/invite`, { email, role: 'EDITOR' }, keyed('invite'))
  const task = await make(ada, '/tasks', { projectId: shared.id, title: 'T', assigneeId: ada.id })
  await make(ada, `/tasks/${task.id}/comments`, { text: 'Hm' })
  await ada.post(`/tasks/${task.id}/claim`, { leaseSeconds: 60 })
  await ada.post(`/projects/${shared.id}/imports?source=csv`, 'title\nT\n', { 'content-type': 'text/csv' })
  await make(ada, `/projects/${own.id}/webhooks`, { url: server.url.replace('smtp', 'http') })
  await untilOutboxEmpty(sql)
  const removal = () => ada.call('DELETE', '/auth/me', { password: 'secret-1' }, keyed('delete'))
  expect((await removal()).status).toBe(200)
  await untilOutboxEmpty(sql)
  expect((await removal()).status).toBe(200)
  expect(await rowsWith(sql, [email])).toEqual({ idempotency_keys: 1 })
  await sql`update idempotency_keys set created_at = now() - interval '25 hours'`
  await expireKeys(service.services.database.background, 24, batchOptions)
  expect(await rowsWith(sql, [email])).toEqual({})
})
