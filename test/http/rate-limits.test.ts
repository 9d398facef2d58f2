import { BoundedMemory, Budget } from '../../src/http/limits/budget.ts'
import { eventually, expectError, freshRedis, make, openPair, register, remainingBudget } from '../kit.ts'
import { statuses, upTo, withOneDatabase } from '../kit.ts'
import type { Answer, Client } from '../kit.ts'

const withService = await withOneDatabase()

function expectLimited(answer: Answer, name: string, quota: number, window: number) {
  expectError(answer, 429, /^Too many requests; try again in \d+ seconds?$/)
  const { headers } = answer
  const wait = Number(headers.get('retry-after'))
  expect(wait).toBeWithin(1, window + 1)
  expect(headers.get('ratelimit-policy')).toBe(`"${name}";q=${quota};w=${window}`)
  expect(headers.get('ratelimit')).toBe(`"${name}";r=0;t=${wait}`)
}

describe('reads and writes', () => {
  test('have separate budgets, shown in every response', () =>
    withService({ READS_PER_MINUTE: '5', WRITES_PER_MINUTE: '3' }, async ({ client }) => {
      const [ada, grace] = [await register(client), await register(client)]
      const { id } = await make(ada, '/projects', { name: 'P' })
      const paths = ['/auth/me', `/projects/${id}`, '/tasks?limit=0', '/projects']
      const reads = await Promise.all(paths.map((path) => ada.get(path)))
      expect(reads.map(({ status }) => status)).toEqual([200, 200, 400, 200])
      const last = await ada.get(`/projects/${id}`, { 'if-none-match': '*' })
      expect([last.status, remainingBudget(last)]).toEqual([304, 0])
      expect(last.headers.get('ratelimit-policy')).toBe('"reads";q=5;w=60')
      expectLimited(await ada.get('/projects'), 'reads', 5, 60)
      expect(remainingBudget(await ada.patch(`/projects/${id}`, { name: 'Q' }))).toBe(1)
      expect(remainingBudget(await ada.patch(`/projects/none`, { name: 'Q' }))).toBe(0)
      expectLimited(await ada.delete(`/projects/${id}`), 'writes', 3, 60)
      expectLimited(await ada.post('/auth/logout'), 'writes', 3, 60)
      const other = await grace.get('/projects')
      expect([other.status, remainingBudget(other)]).toEqual([200, 4])
    }))

  test('share one exact budget across processes', async () => {
    const pair = await openPair({ READS_PER_MINUTE: '10', WRITES_PER_MINUTE: '300' })
    const clients = [pair.atA, pair.atB]
    const answers = await Promise.all(upTo(40).map((n) => clients[n % 2]!.get('/projects')))
    expect(statuses(answers)).toEqual({ 200: 10, 429: 30 })
    // A process reserves six writes at a time, so some reserved writes may stay unused.
    const write = (n: number) => clients[n % 2]!.patch('/projects/none', { name: 'Q' })
    const writes = await Promise.all(upTo(330).map(write))
    expect(statuses(writes)[404]).toBeWithin(300 - 6, 301)
  })

  test('are limited within each process while Redis is unavailable', async () => {
    const redis = await freshRedis()
    await withService({ REDIS_URL: redis.url, READS_PER_MINUTE: '5' }, async ({ client, services }) => {
      await (await register(client)).get('/projects')
      redis.kill()
      await eventually('the loss of Redis', () => services.redisStatus() !== 'ready')
      const grace = await register(client)
      const answers = await Promise.all(upTo(8).map(() => grace.get('/projects')))
      expect(statuses(answers)).toEqual({ 200: 5, 429: 3 })
      expectLimited(await grace.get('/projects'), 'reads', 5, 60)
    })
    await redis.stop()
  })

  test('have no limit and no headers when RATE_LIMIT is off', () =>
    withService({ RATE_LIMIT: 'off', READS_PER_MINUTE: '1', SIGN_IN_FAILURES: '1' }, async ({ client }) => {
      const ada = await register(client)
      for (const answer of await Promise.all(upTo(3).map(() => ada.get('/projects')))) {
        expect([answer.status, answer.headers.get('ratelimit')]).toEqual([200, null])
        expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
      }
      for (const _ of upTo(3))
        expectError(await client.post('/auth/login', { email: ada.email, password: 'wrong' }), 401)
    }))
})

/** Opens the budgets of two processes that share the counts. */
function openBudgets(points: number, seconds: number) {
  const counts = new BoundedMemory({ points, duration: seconds })
  const open = () => new Budget(counts, { name: 'test', points, seconds })
  const used = async () => (await counts.get('k'))?.consumedPoints
  return { counts, used, one: open(), other: open() }
}

describe('a budget', () => {
  test('is full again when its time window ends', async () => {
    const { one } = openBudgets(2, 1)
    const isTaken = () =>
      Promise.try(() => one.take('k')).then(
        () => true,
        () => false,
      )
    // If the machine pauses for the whole window, a later window begins meanwhile.
    await eventually('the end of the budget', async () => !(await isTaken()))
    await eventually('the next window', isTaken)
  })

  test('may be exceeded by one batch, and then rejects the next batch', async () => {
    const { counts, used, one, other } = openBudgets(100, 60)
    // One request remains in the budget of each process.
    for (const process of [one, other]) await process.take('k')
    await counts.penalty('k', 100 - (await used())!)
    for (const process of [one, other]) await process.take('k')
    await one.takeMore('k', 1)
    expect(await used()).toBe(101)
    await expect(other.takeMore('k', 1)).rejects.toMatchObject({ status: 429 })
  })

  test('counts the writes of a batch only once', async () => {
    const { used, one } = openBudgets(100, 60)
    await one.take('k')
    await one.takeMore('k', 1)
    expect(await used()).toBe(2)
    await one.take('k')
    expect(await used()).toBe(4)
  })
})

test('counts in memory have at most 50,000 keys: the least recently used keys are deleted', async () => {
  const counts = new BoundedMemory({ points: 1, duration: 60 })
  for (const n of upTo(50_001)) await counts.penalty(`key ${n}`)
  expect(counts.dump().storage).toHaveLength(50_000)
  expect([await counts.get('key 1'), (await counts.get('key 2'))?.consumedPoints]).toEqual([null, 1])
})

describe('sign-in', () => {
  const from = (address: string) => ({ 'x-forwarded-for': address })
  const login = (client: Client, email: string, password: string, address = '10.0.0.1') =>
    client.post('/auth/login', { email, password }, from(address))
  const proxied = { TRUST_PROXY: 'on' }

  test('is limited per IP address, together with registration', () =>
    withService({ ...proxied, SIGN_INS_PER_MINUTE: '3' }, async ({ client }) => {
      const { email } = await register(client)
      for (const password of ['secret-1', 'wrong'])
        expect(remainingBudget(await login(client, email, password))).toBeWithin(1, 3)
      const account = { name: 'A', email: 'a@example.com', password: 'secret-1' }
      expect((await client.post('/auth/register', account, from('10.0.0.1'))).status).toBe(201)
      expectLimited(await login(client, email, 'secret-1'), 'sign-ins', 3, 60)
      // The proxy appends the last entry; a client may send the earlier entries.
      expectLimited(await login(client, email, 'secret-1', '10.9.9.9, 10.0.0.1'), 'sign-ins', 3, 60)
      expect((await login(client, email, 'secret-1', '10.0.0.1, 10.0.0.2')).status).toBe(200)
    }))

  test('ignores X-Forwarded-For from an untrusted proxy', () =>
    withService({ SIGN_INS_PER_MINUTE: '3' }, async ({ client }) => {
      const { email } = await register(client)
      const answers = await Promise.all(upTo(4).map((n) => login(client, email, 'secret-1', `10.0.0.${n}`)))
      expect(statuses(answers)).toEqual({ 200: 2, 429: 2 })
    }))

  test('is limited after too many wrong passwords, for that IP address and account only', () =>
    withService({ ...proxied, SIGN_IN_FAILURES: '3' }, async ({ client }) => {
      const [ada, grace] = [await register(client), await register(client)]
      for (const _ of upTo(6)) expect((await login(client, ada.email, 'secret-1')).status).toBe(200)
      const guesses = await Promise.all(upTo(12).map((n) => login(client, ada.email, `guess ${n}`)))
      expect(statuses(guesses)).toEqual({ 401: 3, 429: 9 })
      expectLimited(await login(client, ada.email.toUpperCase(), 'secret-1'), 'sign-in-failures', 3, 900)
      expect((await login(client, ada.email, 'secret-1', '10.0.0.2')).status).toBe(200)
      expect((await login(client, grace.email, 'secret-1')).status).toBe(200)
    }))

  test('is limited in the same way for an unknown e-mail address', () =>
    withService({ ...proxied, SIGN_IN_FAILURES: '2' }, async ({ client }) => {
      const { email } = await register(client)
      for (const each of [email, 'nobody@example.com']) {
        const statuses: number[] = []
        for (const _ of upTo(3)) statuses.push((await login(client, each, 'x')).status)
        expect(statuses).toEqual([401, 401, 429])
      }
    }))

  test('counts wrong current passwords, also in a repeat with the same key and another password', () =>
    withService({ ...proxied, SIGN_IN_FAILURES: '2' }, async ({ client }) => {
      const ada = await register(client)
      const change = (currentPassword: string) =>
        ada.patch('/auth/me', { password: 'secret-2', currentPassword }, from('10.0.0.1'))
      for (const wrong of ['a', 'b']) expectError(await change(wrong), 403)
      expectLimited(await change('secret-1'), 'sign-in-failures', 2, 900)
      const keyed = { ...from('10.0.0.1'), 'idempotency-key': 'k' }
      const account = { name: 'A', email: 'keyed@example.com', password: 'secret-1' }
      const enrol = (password: string) => client.post('/auth/register', { ...account, password }, keyed)
      const answers = [await enrol('secret-1'), await enrol('wrong-1'), await enrol('wrong-2')]
      expect(answers.map(({ status }) => status)).toEqual([201, 422, 422])
      expectLimited(await enrol('secret-1'), 'sign-in-failures', 2, 900)
    }))
})
