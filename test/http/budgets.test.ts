import { eventually, expectError, freshRedis, invite, make, openTestService, register } from '../kit.ts'
import { remainingBudget, statuses, tally, untilRedisReady, upTo, withOneDatabase } from '../kit.ts'
import { withToken } from '../kit.ts'
import type { Client, Person } from '../kit.ts'
import { expectLimited } from './responses.ts'

const withService = await withOneDatabase()
const createProject = async (owner: Person) => (await make(owner, '/projects', { name: 'P' })).id
const unknownEmail = 'nobody@example.com'
const sendInvite = (by: Pick<Person, 'post'>, projectId: string, email = unknownEmail) =>
  by.post(`/projects/${projectId}/members/invite`, { email })

/** Runs `work` with one user at two processes that share one budget. */
const withTwo = (env: Record<string, string>, work: (clients: [Person, Client]) => Promise<void>) =>
  withService(env, async ({ client, env }) => {
    await using other = await openTestService(env)
    await untilRedisReady(other)
    const ada = await register(client)
    await work([ada, other.client.as(ada.token)])
  })

test("requests with a revoked token do not reduce the account's budget", () =>
  withService({ WRITES_PER_MINUTE: '3' }, async ({ client }) => {
    const ada = await register(client)
    const logout = (path: string, key: string) => ada.post(path, undefined, { 'idempotency-key': key })
    for (const _ of upTo(4)) expect((await logout('/auth/logout', 'k')).status).toBe(200)
    expectError(await logout('/auth/logout-all', 'l'), 429)
    const signedIn = await client.post('/auth/login', { email: ada.email, password: 'secret-1' })
    const response = await client.as(signedIn.body.access_token).post('/projects', { name: 'P' })
    expect(remainingBudget(response)).toBe(1)
  }))

test('each token has a budget, and all tokens of an account share a budget four times as large', () =>
  withService({ READS_PER_MINUTE: '5' }, async ({ client }) => {
    const [ada, grace] = [await register(client), await register(client)]
    const statuses: number[] = []
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) {
      const program = await withToken(ada, { name })
      for (const _ of upTo(6)) statuses.push((await program.get('/projects')).status)
    }
    expect(tally(statuses)).toEqual({ 200: 4 * 5, 429: 6 * 6 - 4 * 5 })
    expect(tally(statuses.slice(0, 6))).toEqual({ 200: 5, 429: 1 })
    for (const one of [ada, grace]) expect((await one.get('/projects')).status).toBe(200)
  }))

test('a batch counts as one write per operation, an undo per event, and a removal with revoke=true as a hundred', () =>
  withService({ WRITES_PER_MINUTE: '99' }, async ({ client }) => {
    const [ada, bea, guest] = [await register(client), await register(client), await register(client)]
    const [id, other] = [await createProject(ada), await createProject(bea)]
    const batch = (by: Client, at: string, operations: object[]) =>
      by.post(`/projects/${at}/batch`, { operations })
    const creates = (count: number) => upTo(count).map((n) => ({ op: 'task.create', title: `T${n}` }))
    expect(remainingBudget(await batch(ada, id, creates(2)))).toBe(96)
    expect(remainingBudget(await ada.post(`/projects/${id}/undo`, { seqs: [2, 3] }))).toBe(94)
    const member = await invite(ada, id, guest)
    const removed = await ada.delete(`/projects/${id}/members/${member.id}?revoke=true`)
    expect([removed.status, remainingBudget(removed)]).toEqual([200, 0])
    expectLimited(await ada.post('/projects', { name: 'Q' }), 'writes', 99, 60)
    const { id: memberId } = await invite(bea, other, guest)
    expect((await batch(bea, other, creates(80))).status).toBe(200)
    // A batch that exceeds the remaining budget still runs.
    const operations = [...creates(20), { op: 'member.remove', memberId, revoke: 'true' }]
    const answers = await Promise.all(upTo(3).map(() => batch(bea, other, operations)))
    expect(statuses(answers)).toEqual({ 200: 1, 429: 2 })
    expect((await bea.get(`/projects/${other}`)).headers.get('docket-version')).toBe('103')
  }))

test('an account may send INVITATIONS_PER_HOUR invitations an hour, including failed ones and those of a dry run', () =>
  withService({ INVITATIONS_PER_HOUR: '4' }, async ({ client }) => {
    const [ada, grace] = [await register(client), await register(client)]
    const id = await createProject(ada)
    const dryRun = (count: number) => {
      const operations = upTo(count).map((n) => ({ op: 'member.invite', email: `nobody-${n}@example.com` }))
      return ada.post(`/projects/${id}/batch?dryRun=true`, { operations })
    }
    expectError(await dryRun(5), 400, 'operations must contain at most 4 invitations')
    await invite(ada, id, grace)
    expectError(await sendInvite(ada, id, grace.email), 409)
    expectError(await dryRun(2), 404, /^operations\[0\]: /)
    expectError(await dryRun(2), 429)
    expectLimited(await sendInvite(ada, id), 'invitations', 4, 3_600)
    expect((await sendInvite(grace, await createProject(grace), ada.email)).status).toBe(201)
    expect((await ada.patch(`/projects/${id}`, { name: 'Q' })).status).toBe(200)
  }))

test('all tokens of an account share the limit of invitations, in all processes', () =>
  withTwo({ INVITATIONS_PER_HOUR: '6' }, async ([ada, atOther]) => {
    const id = await createProject(ada)
    const { token } = await withToken(ada)
    const callers = [ada, atOther, ada.as(token), atOther.as(token)]
    const answers = await Promise.all(upTo(20).map((n) => sendInvite(callers[n % 4]!, id)))
    expect(statuses(answers)).toEqual({ 404: 6, 429: 14 })
  }))

describe('reads and writes', () => {
  test('have separate budgets, shown in every response', () =>
    withService({ READS_PER_MINUTE: '5', WRITES_PER_MINUTE: '3' }, async ({ client }) => {
      const [ada, grace] = [await register(client), await register(client)]
      const id = await createProject(ada)
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

  test('share one exact budget across processes', () =>
    withTwo({ READS_PER_MINUTE: '10', WRITES_PER_MINUTE: '300' }, async (clients) => {
      const answers = await Promise.all(upTo(40).map((n) => clients[n % 2]!.get('/projects')))
      expect(statuses(answers)).toEqual({ 200: 10, 429: 30 })
      // A process reserves six writes at a time, so some reserved writes may stay unused.
      const write = (n: number) => clients[n % 2]!.patch('/projects/none', { name: 'Q' })
      const writes = await Promise.all(upTo(330).map(write))
      expect(statuses(writes)[404]).toBeWithin(300 - 6, 301)
    }))

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

  test('have no limit and no headers when RATE_LIMIT is off, nor have invitations and sign-ins', () =>
    withService(
      { RATE_LIMIT: 'off', READS_PER_MINUTE: '1', INVITATIONS_PER_HOUR: '1', SIGN_IN_FAILURES: '1' },
      async ({ client }) => {
        const ada = await register(client)
        const id = await createProject(ada)
        for (const _ of upTo(3)) {
          const { status, headers } = await ada.get('/projects')
          expect([status, headers.get('ratelimit')]).toEqual([200, null])
          expectError(await sendInvite(ada, id), 404)
          expectError(await client.post('/auth/login', { email: ada.email, password: 'wrong' }), 401)
        }
      },
    ))
})
