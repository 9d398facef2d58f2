import { openMailScene } from '../mail/scene.ts'
import { claimsOf, closeAccount, eventually, expectError, expectResponse, expireKeys } from '../kit.ts'
import { expireRevokedTokens, faultsOf, forFile, freshRedis, holdTransaction, invite, make } from '../kit.ts'
import { makeToken, nilId, openPair, openScene, openTestService, orphanMembers } from '../kit.ts'
import { orphanProjects, queueOrphanJobs, register, signToken, statuses, testSecret } from '../kit.ts'
import { unknownId, untilBlocked, upTo } from '../kit.ts'
import type { Client, Sql } from '../kit.ts'
import { rowsWith } from '../workers/remains.ts'
import { invalidNames, validTexts } from './sample-texts.ts'
import { untilOutboxEmpty } from '../workers/remains.ts'

const password = 'secret-1'
const newPassword = 'secret-2'
const { service, sql, client } = await openScene()

const signIn = (email: string, secret = password, client: Client = service.client) =>
  client.post('/auth/login', { email, password: secret })
const me = (client: Client) => client.get('/auth/me')
const meStatus = async (client: Client) => (await me(client)).status

async function expectInvalid(...clients: Client[]): Promise<void> {
  for (const client of clients) expectError(await me(client), 401, 'The bearer token is not valid')
}

async function registerTwoTokens() {
  const ada = await register(service.client)
  const second = ada.as((await signIn(ada.email)).body.access_token)
  return { ada, second }
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

test('an update that changes no value writes nothing, and every token stays valid', async () => {
  const { ada, second } = await registerTwoTokens()
  expectResponse(await ada.patch('/auth/me', {}), 200, (await me(ada)).body)
  expectResponse(await ada.patch('/auth/me', { currentPassword: 'wrong' }), 200, (await me(second)).body)
})

test('a new password requires the current password', async () => {
  const ada = await register(service.client)
  const change = (body: object) => ada.patch('/auth/me', body)
  expectError(await change({ password: newPassword }), 400, /^currentPassword is required/)
  expectError(await change({ password: newPassword, currentPassword: 'wrong!' }), 403, /current/)
  for (const wrong of ['12345', null, 7, 'p'.repeat(1025)])
    expectError(await change({ password: wrong, currentPassword: password }), 400, /^password /)
  expect((await signIn(ada.email)).status).toBe(200)
})

test('a new password revokes every token, and the response contains a new token', async () => {
  const { ada, second } = await registerTwoTokens()
  const response = await ada.patch('/auth/me', { password: newPassword, currentPassword: password })
  const { access_token: token, ...user } = response.body
  expectResponse(response, 200, { access_token: expect.any(String), ...user })
  expectResponse(await me(ada.as(token)), 200, user)
  await expectInvalid(ada, second)
  expectError(await signIn(ada.email), 401)
  expect((await signIn(ada.email, newPassword)).status).toBe(200)
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

test("logout revokes the request's token; logout-all revokes every token of the account", async () => {
  const { ada, second } = await registerTwoTokens()
  expectResponse(await ada.post('/auth/logout'), 200, { message: 'Signed out successfully' })
  await expectInvalid(ada)
  expectError(await ada.post('/auth/logout'), 401, 'The bearer token is not valid')
  expect(await meStatus(second)).toBe(200)
  const third = ada.as((await signIn(ada.email)).body.access_token)
  expectResponse(await second.post('/auth/logout-all'), 200, {
    message: 'Signed out everywhere successfully',
  })
  await expectInvalid(second, third)
  expect(await meStatus(ada.as((await signIn(ada.email)).body.access_token))).toBe(200)
})

test('other processes reject a revoked token, even if Redis loses its data', async () => {
  const redis = await freshRedis()
  await forFile({ close: () => redis.stop() })
  const pair = await openPair({ REDIS_URL: redis.url })
  const { atA, atB } = pair
  expect([await meStatus(atA), await meStatus(atB)]).toEqual([200, 200])
  const second = atB.as((await signIn(atA.email, password, atA)).body.access_token)
  expect(await meStatus(second)).toBe(200)
  await atA.post('/auth/logout')
  await eventually('the rejection of the token at B', async () => (await meStatus(atB)) === 401)
  expect(await meStatus(second)).toBe(200)
  await second.post('/auth/logout-all')
  redis.kill()
  const atOther = second.at(pair.a.url)
  await eventually('the rejection of the second token at A', async () => (await meStatus(atOther)) === 401)
  await expectInvalid(atA, atB, second)
  await redis.restart()
  await expectInvalid(atA, atB, second)
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

test('rejects a token whose version, id or user is wrong or missing with 401', async () => {
  const ada = await register(service.client)
  const withClaims = (over: object) => ada.as(signToken(claimsOf(ada.id, over), testSecret))
  expect(await meStatus(withClaims({}))).toBe(200)
  for (const ver of [1, -1, undefined, '0']) await expectInvalid(withClaims({ ver }))
  for (const jti of [undefined, '', 'x', 7, "' or 1=1"]) await expectInvalid(withClaims({ jti }))
  await expectInvalid(withClaims({ sub: unknownId }))
})

test('the cleanup deletes revoked tokens only after they expire', async () => {
  const ada = await register(service.client)
  await ada.post('/auth/logout')
  const countRevoked = async () => (await sql`select 1 from revoked_tokens`).length
  const before = await countRevoked()
  await sql`insert into revoked_tokens (jti, expires_at)
    select gen_random_uuid(), now() - interval '1 s' from generate_series(1, 5)`
  await expireRevokedTokens(sql, { batchRows: 2, pauseMs: 0 })
  expect(await countRevoked()).toBe(before)
  await expectInvalid(ada)
})

service.startWorkers()

const deleted = { message: 'Account deleted successfully' }
const batchOptions = { batchRows: 10, pauseMs: 0 }

async function closeOrphanedAccounts(sql: Sql): Promise<number> {
  const owners = await queueOrphanJobs(sql, orphanProjects, nilId, 1_000)
  return owners.queued + (await queueOrphanJobs(sql, orphanMembers, nilId, 1_000)).queued
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

const removals = (projectId: string) => sql<{ actor: string }[]>`
  select actor_id as actor from events where type = 'member.removed' and project_id = ${projectId}`

test('a deleted account can no longer sign in, and its email address can be registered again', async () => {
  const { ada, grace, own, shared } = await createAccounts()
  expectResponse(await ada.delete('/auth/me'), 200, deleted)
  expectError(await ada.get('/auth/me'), 401)
  expectError(await ada.delete('/auth/me'), 401)
  const account = { name: 'Ada', email: ada.email, password: 'secret-1' }
  expectError(await ada.post('/auth/login', account), 401, 'Wrong email or password')
  const second = await make(client, '/auth/register', account)
  expect(second.user.id).not.toBe(ada.id)
  await untilOutboxEmpty(sql)
  for (const { id } of [own, shared])
    expect((await client.as(second.access_token).get(`/projects/${id}`)).status).toBe(404)
  expect((await grace.get(`/projects/${shared.id}`)).status).toBe(200)
})

test('deleting an account removes its projects and memberships, and keeps its comments without an author', async () => {
  const { ada, grace, own, shared, task, comment } = await createAccounts()
  const path = `/tasks/${task.id}/comments`
  const before = await grace.get(path)
  expectResponse(before, 200, [{ ...comment, authorRemoved: false }])
  await ada.delete('/auth/me')
  const after = await grace.get(path, { 'if-none-match': before.headers.get('etag')! })
  expectResponse(after, 200, [{ ...comment, author: null, authorRemoved: true }])
  await untilOutboxEmpty(sql)
  expectError(await grace.get(`/projects/${own.id}`), 404)
  expectResponse(await grace.get(`/projects/${shared.id}/members`), 200, [])
  expect((await grace.get(`/tasks/${task.id}`)).body.assigneeId).toBeNull()
  expect(await removals(shared.id)).toEqual([{ actor: ada.id }] as never)
  expect(await faultsOf(sql)).toEqual([])
})

test('the deletion job can run several times, and does not affect an existing account', async () => {
  const { ada, grace, own, shared } = await createAccounts()
  const close = () => closeAccount(sql, service.services.run, { userId: ada.id }, batchOptions)
  await close()
  expect((await ada.get(`/projects/${own.id}`)).status).toBe(200)
  await sql`delete from users where id = ${ada.id}`
  await Promise.all([close(), close(), close()])
  await close()
  expect(await removals(shared.id)).toHaveLength(1)
  expectError(await grace.get(`/projects/${own.id}`), 404)
  expectResponse(await grace.get(`/projects/${shared.id}/members`), 200, [])
})

test('the recurring cleanup removes rows that a deleted account wrote after its deletion job ran', async () => {
  await using service = await openTestService()
  const sql = service.services.database.background
  const { ada, own } = await createAccounts(service.client)
  await sql`delete from users where id = ${ada.id}`
  expect(await closeOrphanedAccounts(sql)).toBe(1)
  service.startWorkers()
  await untilOutboxEmpty(sql)
  expect(await sql`select 1 from projects where id = ${own.id}`).toHaveLength(0)
  expect(await sql`select 1 from members where user_id = ${ada.id}`).toHaveLength(0)
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
