import { withOwnAccount } from '../../modules/accounts/own-account.ts'
import { openTokens } from '../../src/identity/tokens.ts'
import { expireRevokedTokens } from '../../workers/cleanup.ts'
import { eventually, expectError, expectResponse, forFile, freshRedis, openPair, openScene } from '../kit.ts'
import { openTestService, register, statuses, testSecret, unknownId, upTo } from '../kit.ts'
import type { Client } from '../kit.ts'
import { invalidNames, validTexts } from './sample-texts.ts'

const password = 'secret-1'
const newPassword = 'secret-2'
const { service, sql } = await openScene()

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
  const { id: userId } = await register(service.client)
  const request = new Request('http://localhost')
  const write = (version: number) =>
    withOwnAccount(
      service.services,
      { claims: { userId, tokenId: unknownId, version, expiresAt: 0 }, request },
      () => Promise.reject(new Error('written')),
    )
  await expect(write(1)).rejects.toMatchObject({ status: 401 })
  await expect(write(0)).rejects.toThrow('written')
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

const tokensSignedWith = (secret: string) => openTokens([secret], 60, async () => Date.now() / 1000)

test('tokens are signed with the first secret of JWT_SECRET and verified with all secrets', async () => {
  const [fresh, foreign] = ['the next secret is long enough too', 'a secret that the service does not know']
  await using rotated = await openTestService({ JWT_SECRET: `${fresh}, ${testSecret}` })
  const ada = await register(rotated.client)
  const claims = await tokensSignedWith('x'.repeat(32)).issue(ada.id, 0)
  for (const [secret, status] of [
    [testSecret, 200],
    [fresh, 200],
    [foreign, 401],
  ] as const)
    expect(await meStatus(ada.as(await tokensSignedWith(secret).sign(claims)))).toBe(status)
  expect(await tokensSignedWith(fresh).verify(ada.token!)).not.toBeNull()
  expect(await tokensSignedWith(testSecret).verify(ada.token!)).toBeNull()
})

test('rejects a token whose version, id or user is wrong or missing with 401', async () => {
  const ada = await register(service.client)
  const tokens = tokensSignedWith(testSecret)
  const withClaims = async (claims: object) =>
    ada.as(await tokens.sign({ ...(await tokens.issue(ada.id, 0)), ...claims }))
  expect(await meStatus(await withClaims({}))).toBe(200)
  for (const version of [1, -1, undefined, '0']) await expectInvalid(await withClaims({ version }))
  for (const tokenId of [undefined, '', 'x', 7, "' or 1=1"])
    await expectInvalid(await withClaims({ tokenId }))
  await expectInvalid(await withClaims({ userId: unknownId }))
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
