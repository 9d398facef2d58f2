import { expect, test } from 'bun:test'
import { withMe } from '../../modules/accounts/change.ts'
import { openTokens } from '../../src/identity/tokens.ts'
import { expireRevokedTokens } from '../../workers/cleanup.ts'
import { type Client, register } from '../support/client.ts'
import { freshRedis } from '../support/redis.ts'
import { forFile, openTestService, testSecret } from '../support/service.ts'
import { eventually, openPair, upTo } from '../races/pair.ts'
import { unknownId, expectResponse, expectError } from './responses.ts'
import { validTexts, invalidNames } from './texts.ts'
import { openScene } from '../support/scene.ts'

const password = 'secret-1'
const other = 'secret-2'
const invalid = 'The bearer token is not valid'
const { service, sql } = await openScene()

const signIn = (email: string, secret = password, client: Client = service.client) =>
  client.post('/auth/login', { email, password: secret })
const me = (client: Client) => client.get('/auth/me')
/** Registers somebody who then signs in once more: two tokens of one account. */
async function twice() {
  const ada = await register(service.client)
  const second = ada.as((await signIn(ada.email)).body.access_token)
  return { ada, second }
}

test('a name is changed, trimmed and held to its limits', async () => {
  const ada = await register(service.client, 'Ada')
  for (const [name, stored] of validTexts(200)) {
    const user = { id: ada.id, name: stored, email: ada.email, emailVerified: false }
    const answer = await ada.patch('/auth/me', { name })
    expectResponse(answer, 200, user)
    const read = await me(ada)
    expectResponse(read, 200, user)
    expect(answer.headers.get('etag')).toBe(read.headers.get('etag'))
  }
  for (const name of invalidNames(200)) expectError(await ada.patch('/auth/me', { name }), 400, /^name /)
})

test('nothing to change changes nothing, and ends no token', async () => {
  const { ada, second } = await twice()
  expectResponse(await ada.patch('/auth/me', {}), 200, (await me(ada)).body)
  expectResponse(await ada.patch('/auth/me', { currentPassword: 'wrong' }), 200, (await me(second)).body)
})

test('another password takes the current one', async () => {
  const ada = await register(service.client)
  const set = (body: object) => ada.patch('/auth/me', body)
  expectError(await set({ password: other }), 400, /^currentPassword is required/)
  expectError(await set({ password: other, currentPassword: 'wrong!' }), 403, /current/)
  for (const wrong of ['12345', null, 7, 'p'.repeat(1025)])
    expectError(await set({ password: wrong, currentPassword: password }), 400, /^password /)
  expect((await signIn(ada.email)).status).toBe(200)
})

test('another password ends every token and is answered with a fresh one', async () => {
  const { ada, second } = await twice()
  const answer = await ada.patch('/auth/me', { password: other, currentPassword: password })
  const { access_token: token, ...user } = answer.body
  expectResponse(answer, 200, { access_token: expect.any(String), ...user })
  expectResponse(await me(ada.as(token)), 200, user)
  for (const client of [ada, second]) expectError(await me(client), 401, invalid)
  expectError(await signIn(ada.email), 401)
  expect((await signIn(ada.email, other)).status).toBe(200)
})

test('of many who set the password at once, one does', async () => {
  const ada = await register(service.client)
  const answers = await Promise.all(
    upTo(6).map((n) => ada.patch('/auth/me', { password: `secret-1${n}`, currentPassword: password })),
  )
  const won = answers.findIndex(({ status }) => status === 200)
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(answers.every(({ status }) => [200, 401, 403].includes(status))).toBeTrue()
  expect((await signIn(ada.email, `secret-1${won + 1}`)).status).toBe(200)
})

test('a token that ended since it was looked at changes nothing', async () => {
  const { id: userId } = await register(service.client)
  const request = new Request('http://localhost')
  const write = (version: number) =>
    withMe(service.services, { claims: { userId, tokenId: unknownId, version, expiresAt: 0 }, request }, () =>
      Promise.reject(new Error('written')),
    )
  await expect(write(1)).rejects.toMatchObject({ status: 401 })
  await expect(write(0)).rejects.toThrow('written')
})

test('signing out ends this token and no other, signing out everywhere all, and the next one is good', async () => {
  const { ada, second } = await twice()
  expectResponse(await ada.post('/auth/logout'), 200, { message: 'Signed out successfully' })
  expectError(await me(ada), 401, invalid)
  expectError(await ada.post('/auth/logout'), 401, invalid)
  expect((await me(second)).status).toBe(200)
  const third = ada.as((await signIn(ada.email)).body.access_token)
  expectResponse(await second.post('/auth/logout-all'), 200, {
    message: 'Signed out everywhere successfully',
  })
  for (const client of [second, third]) expectError(await me(client), 401, invalid)
  expect((await me(ada.as((await signIn(ada.email)).body.access_token))).status).toBe(200)
})

test('what was ended at one process is refused at the other, also after Redis lost everything', async () => {
  const redis = await freshRedis()
  await forFile({ close: () => redis.stop() })
  await using pair = await openPair({ REDIS_URL: redis.url })
  const { atA, atB } = pair
  expect([(await me(atA)).status, (await me(atB)).status]).toEqual([200, 200])
  const second = atB.as((await signIn(atA.email, password, atA)).body.access_token)
  expect((await me(second)).status).toBe(200)
  await atA.post('/auth/logout')
  await eventually('the token is refused at B', async () => (await me(atB)).status === 401)
  expect((await me(second)).status).toBe(200)
  await second.post('/auth/logout-all')
  redis.kill()
  await eventually('the other is refused at A', async () => (await me(second.at(pair.a.url))).status === 401)
  for (const client of [atA, atB, second]) expectError(await me(client), 401, invalid)
  await redis.restart()
  for (const client of [atA, atB, second]) expectError(await me(client), 401, invalid)
})

const tokensOf = (secret: string) => openTokens([secret], 60, async () => Date.now() / 1000)

test('the second secret still verifies, the first signs, others do neither', async () => {
  const [fresh, foreign] = ['the next secret is long enough too', 'a secret nobody here has heard of']
  await using rotated = await openTestService({ JWT_SECRET: `${fresh}, ${testSecret}` })
  const ada = await register(rotated.client)
  const claims = await tokensOf('x'.repeat(32)).issue(ada.id, 0)
  const signedBy = (secret: string) => tokensOf(secret).sign(claims)
  expect((await me(ada.as(await signedBy(testSecret)))).status).toBe(200)
  expect((await me(ada.as(await signedBy(fresh)))).status).toBe(200)
  expectError(await me(ada.as(await signedBy(foreign))), 401)
  expect(await tokensOf(fresh).verify(ada.token!)).not.toBeNull()
  expect(await tokensOf(testSecret).verify(ada.token!)).toBeNull()
})

test('a token of another version than the account, or none, is refused', async () => {
  const ada = await register(service.client)
  const tokens = tokensOf(testSecret)
  const shown = async (over: object) =>
    me(ada.as(await tokens.sign({ ...(await tokens.issue(ada.id, 0)), ...over })))
  expect((await shown({})).status).toBe(200)
  for (const version of [1, -1, undefined, '0']) expectError(await shown({ version }), 401, invalid)
  for (const tokenId of [undefined, '', 'x', 7, "' or 1=1"])
    expectError(await shown({ tokenId }), 401, invalid)
  expectError(await shown({ userId: unknownId }), 401, invalid)
})

test('a revoked token is forgotten only once it has expired', async () => {
  const ada = await register(service.client)
  await ada.post('/auth/logout')
  const revoked = async () => (await sql`select 1 from revoked_tokens`).length
  const before = await revoked()
  await sql`insert into revoked_tokens (jti, expires_at)
    select gen_random_uuid(), now() - interval '1 s' from generate_series(1, 5)`
  await expireRevokedTokens(sql, { batchRows: 2, pauseMs: 0 })
  expect(await revoked()).toBe(before)
  expectError(await me(ada), 401, invalid)
})
