import {
  eventually,
  expectError,
  freshRedis,
  holdTransaction,
  openDatabase,
  openTestService,
} from '../kit.ts'
import { readConfig, register, remainingBudget, statuses, upTo, withOneDatabase } from '../kit.ts'
import type { Answer, Client, Person, TestService } from '../kit.ts'
import { expectLimited } from './responses.ts'

const withService = await withOneDatabase()

const withDelays = (
  env: Record<string, string>,
  run: (service: TestService, ada: Person) => Promise<void>,
): Promise<void> =>
  withService({ TRUST_PROXY: 'on', SIGN_IN_FAILURES: '3', ...env }, async (service) =>
    run(service, await register(service.client)),
  )

const login = (client: Client, email: string, password: string, address = '10.2.0.1') =>
  client.post('/auth/login', { email, password }, { 'x-forwarded-for': address })
const fromProxy = { 'x-forwarded-for': '10.2.0.1' }
const status = async (...given: Parameters<typeof login>) => (await login(...given)).status
/** Sends wrong passwords concurrently, each from its own address. */
const guess = (client: Client, email: string, count: number) =>
  Promise.all(upTo(count).map((n) => login(client, email, `guess ${n}`, `10.1.0.${n}`)))

function expectDelayed(response: Answer): void {
  expectError(response, 429, 'Too many wrong passwords for this account; try again in 1 second')
  expect(response.headers.get('retry-after')).toBe('1')
}

/** The right password is sent concurrently too, because on a slow machine the delay may end before the guesses are checked. */
async function expectDelayedAfterGuesses(client: Client, email: string): Promise<void> {
  const [guesses, right] = await Promise.all([guess(client, email, 9), login(client, email, 'secret-1')])
  expect(statuses(guesses)).toEqual({ 401: 4, 429: 5 })
  expectDelayed(right)
}

describe('wrong passwords for one account, from any address', () => {
  test('delay the next attempt longer each time, and the right password works after the delay', () =>
    withDelays({}, async ({ client }, ada) => {
      await expectDelayedAfterGuesses(client, ada.email)
      // Sent concurrently, so that the second attempt begins during the second delay also on a slow machine.
      const twoWrong = () => Promise.all([2, 3].map((n) => login(client, ada.email, 'wrong', `10.2.0.${n}`)))
      let attempts: Answer[] = []
      const isChecked = async () => {
        attempts = await twoWrong()
        return attempts.some(({ status }) => status === 401)
      }
      await eventually('the end of the first delay', isChecked)
      const second = attempts.find(({ status }) => status === 429)
      expect(Number(second?.headers.get('retry-after'))).toBeWithin(1, 3)
      const right = async () => (await status(client, ada.email, 'secret-1')) === 200
      await eventually('the end of the second delay', right)
    }))

  test('are not checked more often if they arrive concurrently at several processes', () =>
    withDelays({}, async ({ client, env, services }, ada) => {
      await using other = await openTestService(env)
      const isReady = () => [services, other.services].every((one) => one.redisStatus() === 'ready')
      await eventually('both connections to Redis', isReady)
      const both = await Promise.all([client, other.client].map((one) => guess(one, ada.email, 20)))
      const { 401: checked = 0, 429: rejected } = statuses(both.flat())
      expect(checked + rejected!).toBe(40)
      // On a busy machine a delay may end while requests wait; then one more password is checked.
      expect(checked).toBeWithin(4, 8)
    }))

  test('never delay an address from which the account signed in, and no other account', () =>
    withDelays({}, async ({ client }, ada) => {
      expect(await status(client, ada.email, 'secret-1')).toBe(200)
      expect(statuses(await guess(client, ada.email, 9))).toEqual({ 401: 4, 429: 5 })
      expect(statuses(await guess(client, 'nobody@example.com', 9))).toEqual({ 401: 4, 429: 5 })
      for (const _ of upTo(3)) expect(await status(client, ada.email, 'secret-1')).toBe(200)
      for (const _ of upTo(3)) expectError(await login(client, ada.email, 'wrong'), 401)
      expectError(await login(client, ada.email, 'secret-1'), 429)
    }))

  test('are also counted while Redis is unreachable', async () => {
    const redis = await freshRedis()
    await withDelays({ REDIS_URL: redis.url }, async ({ client, services }, ada) => {
      redis.kill()
      await eventually('the lost connection to Redis', () => services.redisStatus() !== 'ready')
      expect(statuses(await guess(client, ada.email, 9))).toEqual({ 401: 4, 429: 5 })
      const right = async () => (await status(client, ada.email, 'secret-1')) === 200
      await eventually('the end of the delay', right)
    })
    await redis.stop()
  })

  test('are also delayed when a signed-in caller sends them as currentPassword', () =>
    withDelays({}, async ({ client }, ada) => {
      const change = (n: number) => {
        const body = { password: 'secret-2', currentPassword: `guess ${n}` }
        return ada.patch('/auth/me', body, { 'x-forwarded-for': `10.3.0.${n}` })
      }
      const changes = await Promise.all(upTo(9).map(change))
      expect(statuses(changes)).toEqual({ 403: 4, 429: 5 })
      for (const one of changes) if (one.status === 429) expectDelayed(one)
      let n = 9
      await eventually('a delayed sign-in', async () => {
        await change(++n)
        return (await status(client, ada.email, 'secret-1', `10.3.0.${n}`)) === 429
      })
    }))
})

test('a failed sign-in is logged with its address and account id, without the password', () =>
  withDelays({ RATE_LIMIT: 'off' }, async ({ client, services }, ada) => {
    const lines: unknown[] = []
    services.log.warn = (...line: unknown[]) => void lines.push(line)
    await login(client, ada.email, 'a wrong secret')
    await login(client, 'nobody@example.com', 'a wrong secret', '10.2.0.2')
    await login(client, ada.email, 'secret-1')
    expect(lines).toEqual([
      [{ address: '10.2.0.1', accountId: ada.id }, 'sign-in failed: wrong password'],
      [{ address: '10.2.0.2', accountId: null }, 'sign-in failed: wrong password'],
    ])
  }))

test('many sign-ins from one address do not delay a sign-in from another address, and those beyond its queue get 429', () =>
  withService({ TRUST_PROXY: 'on' }, async ({ client, env }) => {
    const ada = await register(client)
    let finished = 0
    const outside = openDatabase(readConfig(env))
    // All sign-ins look up their accounts before the first password is checked.
    const unlock = await holdTransaction(outside.reads, (tx) => tx`lock table users in access exclusive mode`)
    // So many that the queue of the address is full even if lookups take half as long as checks of passwords.
    const guesses = upTo(500).map(async (n) => {
      const answer = await login(client, `unknown-${n}@example.com`, 'guess', '10.0.0.1')
      if (answer.status === 401) finished += 1
      return answer
    })
    const right = status(client, ada.email, 'secret-1', '10.0.1.1')
    await eventually('a waiting lookup', async () => {
      const waiting = await outside.reads`select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`
      return waiting.length > 0
    })
    await unlock()
    await outside.close()
    expect(await right).toBe(200)
    const before = finished
    const answers = await Promise.all(guesses)
    expect(before).toBeLessThan(statuses(answers)[401]! / 2)
    const rejected = answers.filter(({ status }) => status !== 401)
    expect(rejected).not.toBeEmpty()
    for (const one of rejected) {
      expectError(one, 429, 'Too many sign-ins from this address wait')
      expect(one.headers.get('retry-after')).toBe('1')
    }
  }))

test('sign-in is limited per IP address, together with registration', async () => {
  await withService({ TRUST_PROXY: 'on', SIGN_INS_PER_MINUTE: '3' }, async ({ client }) => {
    const { email } = await register(client)
    for (const password of ['secret-1', 'wrong'])
      expect(remainingBudget(await login(client, email, password))).toBeWithin(1, 3)
    const account = { name: 'A', email: 'a@example.com', password: 'secret-1' }
    expect((await client.post('/auth/register', account, fromProxy)).status).toBe(201)
    // The proxy appends the last entry; a client may send the earlier entries.
    for (const address of ['10.2.0.1', '10.9.9.9, 10.2.0.1'])
      expectLimited(await login(client, email, 'secret-1', address), 'sign-ins', 3, 60)
    expect((await login(client, email, 'secret-1', '10.2.0.1, 10.2.0.2')).status).toBe(200)
  })
  await withService({ SIGN_INS_PER_MINUTE: '3' }, async ({ client }) => {
    const { email } = await register(client)
    const answers = await Promise.all(upTo(4).map((n) => login(client, email, 'secret-1', `10.0.0.${n}`)))
    expect(statuses(answers)).toEqual({ 200: 2, 429: 2 })
  })
})

test('sign-in is limited after too many wrong passwords, for that IP address and account only', () =>
  withService({ TRUST_PROXY: 'on', SIGN_IN_FAILURES: '3' }, async ({ client }) => {
    const [ada, grace] = [await register(client), await register(client)]
    for (const _ of upTo(6)) expect((await login(client, ada.email, 'secret-1')).status).toBe(200)
    for (const email of [ada.email, 'nobody@example.com']) {
      const guesses = await Promise.all(upTo(12).map((n) => login(client, email, `guess ${n}`)))
      expect(statuses(guesses)).toEqual({ 401: 3, 429: 9 })
    }
    expectLimited(await login(client, ada.email.toUpperCase(), 'secret-1'), 'sign-in-failures', 3, 900)
    expect((await login(client, ada.email, 'secret-1', '10.2.0.2')).status).toBe(200)
    expect((await login(client, grace.email, 'secret-1')).status).toBe(200)
  }))

test('the limit of wrong passwords counts wrong current passwords, also in a repeat with the same key and another password', () =>
  withService({ TRUST_PROXY: 'on', SIGN_IN_FAILURES: '2' }, async ({ client }) => {
    const ada = await register(client)
    const change = (currentPassword: string) =>
      ada.patch('/auth/me', { password: 'secret-2', currentPassword }, fromProxy)
    for (const wrong of ['a', 'b']) expectError(await change(wrong), 403)
    expectLimited(await change('secret-1'), 'sign-in-failures', 2, 900)
    const keyed = { ...fromProxy, 'idempotency-key': 'k' }
    const account = { name: 'A', email: 'keyed@example.com', password: 'secret-1' }
    const enrol = (password: string) => client.post('/auth/register', { ...account, password }, keyed)
    const answers = [await enrol('secret-1'), await enrol('wrong-1'), await enrol('wrong-2')]
    expect(answers.map(({ status }) => status)).toEqual([201, 422, 422])
    expectLimited(await enrol('secret-1'), 'sign-in-failures', 2, 900)
  }))
