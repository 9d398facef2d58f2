import { describe, expect, test } from 'bun:test'
import { delaysMs } from '../../src/http/limits/delays.ts'
import { eventually, upTo } from '../races/pair.ts'
import { type Answer, type Client, type Person, register } from '../support/client.ts'
import { freshRedis } from '../support/redis.ts'
import { openScene } from '../support/scene.ts'
import { openTestService, type TestService } from '../support/service.ts'
import { expectError, countStatuses } from './responses.ts'

type Work = (service: TestService, ada: Person) => Promise<void>

/** A service in which the fourth wrong password for an account delays the next one. */
async function within(env: Record<string, string>, work: Work): Promise<void> {
  const service = await openTestService({ TRUST_PROXY: 'on', SIGN_IN_FAILURES: '3', ...env })
  await work(service, await register(service.client)).finally(() => service.close())
}

const login = (client: Client, email: string, password: string, address: string) =>
  client.post('/auth/login', { email, password }, { 'x-forwarded-for': address })
/** So many wrong passwords, at once and each from an address of its own. */
const guesses = (client: Client, email: string, count: number) =>
  Promise.all(upTo(count).map((n) => login(client, email, `guess ${n}`, `10.1.0.${n}`)))

function expectDelayed(answer: Answer): void {
  expectError(answer, 429, 'Too many wrong passwords for this account; try again in 1 second')
  expect(answer.headers.get('retry-after')).toBe('1')
}

describe('wrong passwords for one account, from any address', () => {
  test('delay the next attempt longer and longer, and a right one works after the delay', () =>
    within({}, async ({ client }, ada) => {
      expect(countStatuses(await guesses(client, ada.email, 4))).toEqual({ 401: 4 })
      expectDelayed(await login(client, ada.email, 'secret-1', '10.2.0.1'))
      let last: Answer
      const wrong = async () => (last = await login(client, ada.email, 'wrong', '10.2.0.2')).status === 401
      await eventually('the end of the first delay', wrong)
      expect(last!.status).toBe(401)
      const again = await login(client, ada.email, 'secret-1', '10.2.0.1')
      expect(again.status).toBe(429)
      expect(Number(again.headers.get('retry-after'))).toBeWithin(1, 3)
      const right = async () => (await login(client, ada.email, 'secret-1', '10.2.0.1')).status === 200
      await eventually('the end of the second delay', right)
    }))

  test('get no more checks by coming at once, at several processes', () =>
    within({}, async ({ client, env }, ada) => {
      await using other = await openTestService(env)
      const both = await Promise.all([client, other.client].map((one) => guesses(one, ada.email, 20)))
      const { 401: checked = 0, 429: rejected } = countStatuses(both.flat())
      expect(checked + rejected!).toBe(40)
      // On a busy machine a delay may end while requests wait: one more is checked then, and the next delay is longer.
      expect(checked).toBeWithin(4, 8)
    }))

  test('never delay an address from which the account signed in', () =>
    within({}, async ({ client }, ada) => {
      expect((await login(client, ada.email, 'secret-1', '10.2.0.1')).status).toBe(200)
      expect(countStatuses(await guesses(client, ada.email, 9))).toEqual({ 401: 4, 429: 5 })
      for (const _ of upTo(3))
        expect((await login(client, ada.email, 'secret-1', '10.2.0.1')).status).toBe(200)
      expectError(await login(client, ada.email, 'wrong', '10.2.0.1'), 401)
    }))

  test('do not delay other accounts, and tell nothing about who has one', () =>
    within({}, async ({ client }, ada) => {
      const invented = 'nobody@example.com'
      expect(countStatuses(await guesses(client, invented, 9))).toEqual({ 401: 4, 429: 5 })
      expectDelayed(await login(client, invented, 'secret-1', '10.2.0.1'))
      expect((await login(client, ada.email, 'secret-1', '10.2.0.1')).status).toBe(200)
    }))

  test('are counted while Redis is away', async () => {
    const redis = await freshRedis()
    await within({ REDIS_URL: redis.url }, async ({ client, services }, ada) => {
      redis.kill()
      await eventually('Redis is missed', () => services.redisStatus() !== 'ready')
      expect(countStatuses(await guesses(client, ada.email, 9))).toEqual({ 401: 4, 429: 5 })
      const right = async () => (await login(client, ada.email, 'secret-1', '10.2.0.1')).status === 200
      await eventually('the end of the delay', right)
    })
    await redis.stop()
  })

  test('are delayed where a signed-in caller tries them, too', () =>
    within({}, async ({ client }, ada) => {
      const change = (n: number) =>
        ada.patch(
          '/auth/me',
          { password: 'secret-2', currentPassword: `guess ${n}` },
          { 'x-forwarded-for': `10.3.0.${n}` },
        )
      expect(countStatuses(await Promise.all(upTo(9).map(change)))).toEqual({ 403: 4, 429: 5 })
      expectDelayed(await login(client, ada.email, 'secret-1', '10.2.0.1'))
    }))
})

test('a failed sign-in is logged with its address and account, and nothing that was sent', () =>
  within({ RATE_LIMIT: 'off' }, async ({ client, services }, ada) => {
    const lines: unknown[] = []
    services.log.warn = (...line: unknown[]) => void lines.push(line)
    await login(client, ada.email, 'a wrong secret', '10.2.0.1')
    await login(client, 'nobody@example.com', 'a wrong secret', '10.2.0.2')
    await login(client, ada.email, 'secret-1', '10.2.0.1')
    expect(lines).toEqual([
      [{ address: '10.2.0.1', accountId: ada.id }, 'sign-in failed: wrong password'],
      [{ address: '10.2.0.2', accountId: null }, 'sign-in failed: wrong password'],
    ])
  }))

test('each delay is longer than the one before, and none longer than a minute', () => {
  expect(delaysMs.toSorted((a, b) => a - b)).toEqual(delaysMs)
  expect([new Set(delaysMs).size, delaysMs.at(-1)]).toEqual([delaysMs.length, 60_000])
})

const { service: unhurried, client, ada } = await openScene(['Ada'], { TRUST_PROXY: 'on' })

/** Sends all, and counts how many of them are answered before `last`, which is sent after them. */
async function aheadOf(others: Promise<Answer>[], last: () => Promise<Answer>) {
  let ahead = 0
  for (const one of others) void one.then(() => ahead++)
  const answer = await last()
  return { answer, ahead, all: await Promise.all(others) }
}

test('logins of invented addresses do not keep a login at another address waiting', async () => {
  const flood = upTo(99).map((n) => login(client, `invented-${n}@example.com`, 'guess', '10.0.0.1'))
  const { answer, ahead, all } = await aheadOf(flood, () => login(client, ada.email, 'secret-1', '10.0.0.2'))
  expect(answer.status).toBe(200)
  expect(ahead).toBeLessThan(50)
  expect(all.every(({ status }) => status === 401)).toBeTrue()
})

test('more of one address than may wait are told when to come again, and others are let in', async () => {
  const flood = upTo(300).map((n) => login(client, `many-${n}@example.com`, 'guess', '10.0.1.1'))
  const { answer, all } = await aheadOf(flood, () => login(client, ada.email, 'secret-1', '10.0.1.2'))
  expect(answer.status).toBe(200)
  const rejected = all.filter(({ status }) => status === 429)
  expect(all.every(({ status }) => status === 401 || status === 429)).toBeTrue()
  for (const { headers, body } of rejected) {
    expect(headers.get('retry-after')).toBe('1')
    expect(body.message).toBe('Too many sign-ins from this address wait; try again in 1 second')
  }
})

test('an address may sign in less often by default than one core hashes passwords', () => {
  expect(unhurried.services.config.signInsPerMinute).toBe(2_400)
})
