import { at, claimsOf, clockShiftedBy, expireRevokedTokens, expiresAt, faultsOf, forFile } from '../kit.ts'
import { invite, make, newId, openClient, openPair, register, signToken, spawnService } from '../kit.ts'
import { testSecret, unreachableUrl, upTo } from '../kit.ts'
import type { Person, ServiceProcess } from '../kit.ts'
import { expectTokensToEnd } from './ending-tokens.ts'
import { accountsPath, type Account, tokensPath } from '../http/account-scene.ts'

const hour = 3_600_000
// Each process releases its lease after every batch, so that both processes write.
const pair = await openPair({ JWT_EXPIRATION: '1h', LEASE_SLICE_MS: '0' })
const shifted = [-2 * hour, 2 * hour].map((ms) =>
  forFile(spawnService('web', { ...pair.env, ...clockShiftedBy(ms) })),
)
const others: ServiceProcess[] = [pair.b, ...(await Promise.all(shifted))]

const answers = (person: Person) =>
  Promise.all([pair.a, ...others].map(async (process) => (await at(person, process).get('/auth/me')).status))
const atAll = (status: number) => [pair.a, ...others].map(() => status)

const tokenUntil = (exp: number, { id }: Person) => signToken(claimsOf(id, { exp }), testSecret)
const withToken = (person: Person, token: string): Person => ({ ...person, ...person.as(token) })
const now = () => Math.floor(Date.now() / 1000)

test('an access token that is revoked in one process is rejected by all processes within a second', async () => {
  const ends: ((person: Person) => ReturnType<Person['get']>)[] = [
    (person) => person.post('/auth/logout'),
    (person) => person.post('/auth/logout-all'),
    (person) => person.patch('/auth/me', { password: 'secret-2', currentPassword: 'secret-1' }),
    (person) => person.delete('/auth/me'),
  ]
  const tokens = ends.map(async (end) => {
    const person = await register(pair.atA)
    return { clients: [pair.a, ...others].map((process) => at(person, process)), end: () => end(person) }
  })
  await expectTokensToEnd(await Promise.all(tokens), [200, 200, 200, 200])
})

test('a token is valid in all processes, whichever process issued it', async () => {
  for (const process of [pair.a, ...others])
    expect(await answers(await register(at(pair.atA, process)))).toEqual(atAll(200))
})

test('a token expires in all processes at the same time, and a revoked token is rejected even after its row is deleted', async () => {
  const ada = await register(pair.atA)
  const expiry = now() + 15
  const ended = withToken(ada, tokenUntil(expiry, ada))
  const short = withToken(ada, tokenUntil(expiry, ada))
  expect(await answers(short)).toEqual(atAll(200))
  const key = { 'idempotency-key': newId() }
  const logout = (process: ServiceProcess) => at(ended, process).post('/auth/logout', undefined, key)
  for (const process of others) expect((await logout(process)).status).toBe(200)

  await Bun.sleep((expiry + 1) * 1_000 - Date.now())
  await expireRevokedTokens(pair.sql, { batchRows: 100, pauseMs: 0 })
  expect(await pair.sql`select from revoked_tokens where expires_at < now()`).toHaveLength(0)
  for (const person of [short, ended]) expect(await answers(person)).toEqual(atAll(401))
  for (const process of others) expect((await logout(process)).status).toBe(401)
})

test('removing a member with revoke=true deletes webhooks, service accounts and tokens that the member creates meanwhile', async () => {
  for (const _ of upTo(5)) {
    const { id: projectId } = await make(pair.atA, '/projects', { name: 'Contended' })
    const admin = await register(openClient(pair.a.url))
    const admins = [admin, at(admin, pair.b)]
    const { id: memberId } = await invite(pair.atA, projectId, admin, 'ADMIN')
    const account = (await make(admin, accountsPath(projectId), { name: 'First' })) as Account
    const wanted = { name: 'T', scopes: ['admin'], expiresAt }
    const creations = upTo(8).flatMap((n) => {
      const by = admins[n % 2]!
      return [
        by.post(`/projects/${projectId}/webhooks`, { url: unreachableUrl }),
        by.post(accountsPath(projectId), { name: 'More' }),
        by.post(tokensPath(account), wanted),
      ]
    })
    const removal = pair.atB.delete(`/projects/${projectId}/members/${memberId}?revoke=true`)
    const answers = await Promise.all(creations)
    expect((await removal).status).toBe(200)
    for (const { status } of answers) expect([201, 404]).toContain(status)
    expect((await pair.atA.get(`/projects/${projectId}/webhooks`)).body).toHaveLength(0)
    expect((await pair.atA.get(accountsPath(projectId))).body).toHaveLength(0)
    expect((await pair.atA.get(`/projects/${projectId}/members`)).body).toHaveLength(0)
  }
  expect(await faultsOf(pair.sql)).toEqual([])
})

test('webhooks that two processes create concurrently have distinct slot numbers and stay within the limit', async () => {
  const { id: projectId } = await make(pair.atA, '/projects', { name: 'Full' })
  const path = `/projects/${projectId}/webhooks`
  const created = await Promise.all(
    upTo(120).map((n) => [pair.atA, pair.atB][n % 2]!.post(path, { url: unreachableUrl })),
  )
  expect(created.filter(({ status }) => status === 201)).toHaveLength(100)
  expect(created.filter(({ status }) => status === 409)).toHaveLength(20)
  const [row] = await pair.sql<{ n: number }[]>`
    select count(distinct slot)::int4 as n from webhooks where project_id = ${projectId}`
  expect(row!.n).toBe(100)
  expect(await faultsOf(pair.sql)).toEqual([])
})
