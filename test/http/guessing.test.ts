import { describe, expect, spyOn, test } from 'bun:test'
import { eventually, expectError, freshRedis, openScene, openTestService, register } from '../kit.ts'
import { statuses, upTo, withService } from '../kit.ts'
import type { Answer, Client, Person, TestService } from '../kit.ts'

const withDelays = (
  env: Record<string, string>,
  run: (service: TestService, ada: Person) => Promise<void>,
): Promise<void> =>
  withService({ TRUST_PROXY: 'on', SIGN_IN_FAILURES: '3', ...env }, async (service) =>
    run(service, await register(service.client)),
  )

const login = (client: Client, email: string, password: string, address = '10.2.0.1') =>
  client.post('/auth/login', { email, password }, { 'x-forwarded-for': address })
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

  test('never delay an address from which the account signed in', () =>
    withDelays({}, async ({ client }, ada) => {
      expect(await status(client, ada.email, 'secret-1')).toBe(200)
      expect(statuses(await guess(client, ada.email, 9))).toEqual({ 401: 4, 429: 5 })
      for (const _ of upTo(3)) expect(await status(client, ada.email, 'secret-1')).toBe(200)
      for (const _ of upTo(3)) expectError(await login(client, ada.email, 'wrong'), 401)
      expectError(await login(client, ada.email, 'secret-1'), 429)
    }))

  test('do not delay other accounts, and get the same responses when no account exists', () =>
    withDelays({}, async ({ client }, ada) => {
      await expectDelayedAfterGuesses(client, 'nobody@example.com')
      expect(await status(client, ada.email, 'secret-1')).toBe(200)
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
      let last = changes[0]!
      await eventually('a delayed sign-in', async () => {
        await change(++n)
        last = await login(client, ada.email, 'secret-1', `10.3.0.${n}`)
        return last.status === 429
      })
      expectError(last, 429, /^Too many wrong passwords for this account; try again in/)
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

const { service: withDefaults, client, ada } = await openScene(['Ada'], { TRUST_PROXY: 'on' })

/**
 * Sends wrong passwords from one address and then a right password from another address. All checks begin together, the
 * check of the other address last. `checked` lists the addresses in the order in which their checks end.
 */
async function signInBehind(count: number, address: string) {
  const { passwords } = withDefaults.services
  const { matches } = passwords
  const [all, checked] = [Promise.withResolvers<void>(), [] as string[]]
  let arrived = 0
  const spy = spyOn(passwords, 'matches').mockImplementation(async (...args) => {
    if (++arrived > count) all.resolve()
    await all.promise
    return matches(...args).finally(() => checked.push(args[2]))
  })
  const guesses = upTo(count).map((n) => login(client, `unknown-${n}@example.com`, 'guess', address))
  await eventually('the checks of the first address', () => arrived === count)
  expect(await status(client, ada.email, 'secret-1', '10.0.1.1')).toBe(200)
  const responses = await Promise.all(guesses)
  spy.mockRestore()
  return { responses, checked }
}

test('many sign-ins from one address do not delay a sign-in from another address', async () => {
  const { responses, checked } = await signInBehind(99, '10.0.0.1')
  expect(statuses(responses)).toEqual({ 401: 99 })
  expect(checked.indexOf('10.0.1.1')).toBeLessThan(50)
})

test('sign-ins beyond the queue limit of their address get 429 with Retry-After', async () => {
  const { responses } = await signInBehind(200, '10.0.0.2')
  const rejected = responses.filter(({ status }) => status !== 401)
  expect(rejected).not.toBeEmpty()
  for (const response of rejected) {
    expectError(response, 429, 'Too many sign-ins from this address wait')
    expect(response.headers.get('retry-after')).toBe('1')
  }
})
