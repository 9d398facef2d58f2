import { createHmac } from 'node:crypto'
import { expect, test } from 'bun:test'
import { newId } from '../../src/ids.ts'
import { expireRevokedTokens } from '../../workers/cleanup.ts'
import { type Person, register } from '../support/client.ts'
import { clockShiftedBy, type ServiceProcess, spawnService, testSecret, forFile } from '../support/service.ts'
import { expectTokensToEnd } from './ending-tokens.ts'
import { at, openPair } from './pair.ts'

const hour = 3_600_000
const pair = await openPair({ JWT_EXPIRATION: '1h' })
const shifted = [-2 * hour, 2 * hour].map((ms) =>
  forFile(spawnService('web', { ...pair.env, ...clockShiftedBy(ms) })),
)
const others: ServiceProcess[] = [pair.b, ...(await Promise.all(shifted))]

const answers = (person: Person) =>
  Promise.all([pair.a, ...others].map(async (process) => (await at(person, process).get('/auth/me')).status))
const atAll = (status: number) => [pair.a, ...others].map(() => status)

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
function tokenUntil(exp: number, { id }: Person): string {
  const claims = { sub: id, jti: newId(), ver: 0, iss: 'docket', aud: 'docket-api', exp }
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`
  return `${signed}.${createHmac('sha256', testSecret).update(signed).digest('base64url')}`
}
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
  const ended = withToken(ada, tokenUntil(now() + 3, ada))
  const short = withToken(ada, tokenUntil(now() + 3, ada))
  expect(await answers(short)).toEqual(atAll(200))
  const key = { 'idempotency-key': newId() }
  const logout = (process: ServiceProcess) => at(ended, process).post('/auth/logout', undefined, key)
  for (const process of others) expect((await logout(process)).status).toBe(200)

  await Bun.sleep(4_000)
  await expireRevokedTokens(pair.sql, { batchRows: 100, pauseMs: 0 })
  expect(await pair.sql`select from revoked_tokens where expires_at < now()`).toHaveLength(0)
  for (const person of [short, ended]) expect(await answers(person)).toEqual(atAll(401))
  for (const process of others) expect((await logout(process)).status).toBe(401)
})
