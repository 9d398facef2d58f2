import { at, claimsOf, clockShiftedBy, expireRows, faultsOf, forFile } from '../kit.ts'
import { expiresAt, invite, make, newId, openClient, openPair, register, signToken } from '../kit.ts'
import { spawnService, testSecret, unreachableUrl, upTo } from '../kit.ts'
import type { Person, ServiceProcess } from '../kit.ts'
import { accountsPath, type Account, tokensPath } from '../http/account-scene.ts'

const hour = 3_600_000
// Each process releases its lease after every batch, so that both processes write.
const pair = await openPair({ JWT_EXPIRATION: '1h', LEASE_SLICE_MS: '0' })
const shifted = [-2 * hour, 2 * hour].map((ms) =>
  forFile(spawnService('web', { ...pair.env, ...clockShiftedBy(ms) })),
)
const others: ServiceProcess[] = [pair.b, ...(await Promise.all(shifted))]
const all = [pair.a, ...others]

const statusesOf = (person: Person) =>
  Promise.all(all.map(async (process) => (await at(person, process).get('/auth/me')).status))

test('a token expires in all processes at the same time, and a revoked token is rejected even after its row is deleted', async () => {
  const ada = await register(pair.atA)
  const expiry = Math.floor(Date.now() / 1000) + 10
  const until = (exp: number) => ({ ...ada, ...ada.as(signToken(claimsOf(ada.id, { exp }), testSecret)) })
  const [ended, short] = [until(expiry), until(expiry)]
  expect(await statusesOf(short)).toEqual(all.map(() => 200))
  const key = { 'idempotency-key': newId() }
  const logout = (process: ServiceProcess) => at(ended, process).post('/auth/logout', undefined, key)
  for (const process of others) expect((await logout(process)).status).toBe(200)

  await Bun.sleep((expiry + 1) * 1_000 - Date.now())
  await expireRows(pair.sql, 'revoked_tokens', { batchRows: 100, pauseMs: 0 })
  expect(await pair.sql`select from revoked_tokens where expires_at < now()`).toHaveLength(0)
  for (const person of [short, ended]) expect(await statusesOf(person)).toEqual(all.map(() => 401))
  for (const process of others) expect((await logout(process)).status).toBe(401)
})

test('removing a member with revoke=true deletes webhooks, service accounts and tokens that the member creates meanwhile', async () => {
  for (const _ of upTo(5)) {
    const { id: projectId } = await make(pair.atA, '/projects', { name: 'Contended' })
    const admin = await register(openClient(pair.a.url))
    const { id: memberId } = await invite(pair.atA, projectId, admin, 'ADMIN')
    const account = (await make(admin, accountsPath(projectId), { name: 'First' })) as Account
    const wanted = { name: 'T', scopes: ['admin'], expiresAt }
    const creations = upTo(8).flatMap((n) => {
      const by = n % 2 ? admin : at(admin, pair.b)
      return [
        by.post(`/projects/${projectId}/webhooks`, { url: unreachableUrl }),
        by.post(accountsPath(projectId), { name: 'More' }),
        by.post(tokensPath(account), wanted),
      ]
    })
    const removal = pair.atB.delete(`/projects/${projectId}/members/${memberId}?revoke=true`)
    for (const { status } of await Promise.all(creations)) expect([201, 404]).toContain(status)
    expect((await removal).status).toBe(200)
    for (const path of [
      accountsPath(projectId),
      `/projects/${projectId}/webhooks`,
      `/projects/${projectId}/members`,
    ])
      expect((await pair.atA.get(path)).body).toHaveLength(0)
  }
  expect(await faultsOf(pair.sql)).toEqual([])
})
