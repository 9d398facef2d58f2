import { eventually, expectError, freshRedis, invite, make, makeToken, openPair, register } from '../kit.ts'
import { remainingBudget, statuses, tally, upTo, withOneDatabase, withToken } from '../kit.ts'
import type { Answer, Client, Person } from '../kit.ts'

const withService = await withOneDatabase()
const createProject = (owner: Person) => make(owner, '/projects', { name: 'P' })

test('a list of all projects costs one read if a short scan fills its page, and otherwise one more for 500 tasks', () =>
  withService({ READS_PER_MINUTE: '99' }, async ({ client, services }) => {
    const ada = await register(client)
    const sql = services.database.background
    const ids = [await createProject(ada), await createProject(ada), await createProject(ada)].map(
      ({ id }) => id,
    )
    await sql`insert into tasks (id, project_id, number, title, status, priority, created_at, updated_at, event_id)
      select uuidv7(), id, n, 'T', 'TODO', 'LOW', now(), now(), uuidv7()
      from unnest(${ids}::uuid[]) id, generate_series(1, 2500) n`
    await sql`update streams set last_number = 2500, version = 2500 where project_id = any(${ids}::uuid[])`
    const costOf = async (query: string) => {
      const [before, after] = [await ada.get('/auth/me'), await ada.get(`/tasks?${query}`)]
      expect(after.status).toBe(200)
      return remainingBudget(before)! - remainingBudget(after)!
    }
    for (const query of [
      '',
      'ready=true',
      'noLabel=true&sort=-createdAt',
      `dueBefore=1970-01-01&projectId=${ids[0]}`,
    ])
      expect([query, await costOf(query)]).toEqual([query, 1])
    for (const query of [
      'dueBefore=1970-01-01&sort=createdAt',
      'noLabel=true&dueAfter=2027-01-01&sort=createdAt',
    ])
      expect([query, await costOf(query)]).toEqual([query, 1 + 6_000 / 500])
  }))

test('a count costs one read for each 1,000 counted tasks, and a cached response one read', () =>
  withService({ READS_PER_MINUTE: '99' }, async ({ client, services }) => {
    const ada = await register(client)
    const { id } = await createProject(ada)
    const sql = services.database.background
    await sql`insert into tasks (id, project_id, number, title, status, priority, created_at, updated_at, event_id)
      select uuidv7(), ${id}, n, 'T', case when n > 12400 then 'DONE' else 'TODO' end, 'LOW', now(), now(), uuidv7()
      from generate_series(1, 12500) n`
    await sql`update streams set last_number = 12500, version = 12500 where project_id = ${id}`
    for (const [query, cost] of [
      ['', 13],
      ['', 1],
      ['&by=status', 13],
      ['&status=DONE', 1],
      ['&asOf=12500&status=DONE', 1],
      ['&ready=true', 13],
    ] as const) {
      const [before, after] = [
        await ada.get('/auth/me'),
        await ada.get(`/tasks/counts?projectId=${id}${query}`),
      ]
      expect(after.status).toBe(200)
      expect([query, remainingBudget(before)! - remainingBudget(after)!]).toEqual([query, cost])
    }
  }))

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

test('a batch counts as one write per operation, and a batch that exceeds the remaining budget still runs', () =>
  withService({ WRITES_PER_MINUTE: '10' }, async ({ client }) => {
    const ada = await register(client)
    const { id } = await createProject(ada)
    const batch = (count: number) =>
      ada.post(`/projects/${id}/batch`, {
        operations: upTo(count).map((n) => ({ op: 'task.create', title: `T${n}` })),
      })
    const first = await batch(2)
    expect([first.status, remainingBudget(first)]).toEqual([200, 7])
    const responses = await Promise.all(upTo(3).map(() => batch(20)))
    expect(statuses(responses)).toEqual({ 200: 1, 429: 2 })
    expectError(await ada.post('/projects', { name: 'Q' }), 429)
    expect((await ada.get(`/projects/${id}`)).headers.get('docket-version')).toBe('23')
  }))

test('an undo counts as one write per event that it names', () =>
  withService({ WRITES_PER_MINUTE: '20' }, async ({ client }) => {
    const ada = await register(client)
    const { id: projectId } = await createProject(ada)
    for (const n of upTo(3)) await make(ada, '/tasks', { title: `T${n}`, projectId })
    const undone = await ada.post(`/projects/${projectId}/undo`, { seqs: [2, 3, 4] })
    expect([undone.status, remainingBudget(undone)]).toEqual([200, 13])
  }))

test('a removal with revoke=true counts as a hundred writes, also in a batch', () =>
  withService({ WRITES_PER_MINUTE: '99' }, async ({ client }) => {
    const guest = await register(client)
    for (const isBatch of [false, true]) {
      const ada = await register(client)
      const { id: projectId } = await createProject(ada)
      const { id: memberId } = await invite(ada, projectId, guest)
      const operations = [{ op: 'member.remove', memberId, revoke: 'true' }]
      const response = await (isBatch
        ? ada.post(`/projects/${projectId}/batch`, { operations })
        : ada.delete(`/projects/${projectId}/members/${memberId}?revoke=true`))
      expect([response.status, remainingBudget(response)]).toEqual([200, 0])
    }
  }))

const unknownEmail = 'nobody@example.com'
const sendInvite = (caller: Pick<Person, 'post'>, projectId: string, email = unknownEmail) =>
  caller.post(`/projects/${projectId}/members/invite`, { email })

test('an account may send INVITATIONS_PER_HOUR invitations an hour, failed invitations included', () =>
  withService({ INVITATIONS_PER_HOUR: '3' }, async ({ client }) => {
    const [ada, grace] = [await register(client), await register(client)]
    const { id } = await createProject(ada)
    await invite(ada, id, grace)
    expectError(await sendInvite(ada, id, grace.email), 409)
    expectError(await sendInvite(ada, id), 404)
    const rejected = await sendInvite(ada, id)
    expectError(rejected, 429, /^Too many requests; try again in \d+ seconds$/)
    expect(rejected.headers.get('ratelimit-policy')).toBe('"invitations";q=3;w=3600')
    expect(Number(rejected.headers.get('retry-after'))).toBeWithin(3_000, 3_601)
    expect((await sendInvite(grace, (await createProject(grace)).id, ada.email)).status).toBe(201)
    expect((await ada.patch(`/projects/${id}`, { name: 'Q' })).status).toBe(200)
  }))

test('a dry run of a batch counts every invitation in the batch', () =>
  withService({ INVITATIONS_PER_HOUR: '4' }, async ({ client }) => {
    const ada = await register(client)
    const { id } = await createProject(ada)
    const dryRun = (count: number) =>
      ada.post(`/projects/${id}/batch?dryRun=true`, {
        operations: upTo(count).map((n) => ({ op: 'member.invite', email: `nobody-${n}@example.com` })),
      })
    expectError(await dryRun(5), 400, 'operations must contain at most 4 invitations')
    expectError(await dryRun(3), 404, /^operations\[0\]: /)
    expectError(await dryRun(2), 429)
    expectError(await sendInvite(ada, id, ada.email), 429)
  }))

test('all tokens of an account share the limit of invitations, in all processes', async () => {
  const pair = await openPair({ INVITATIONS_PER_HOUR: '6' })
  const { atA, atB } = pair
  const { id } = await createProject(atA)
  const { token } = await makeToken(atA)
  const callers = [atA, atB, atA.as(token), atB.as(token)]
  const responses = await Promise.all(upTo(20).map((n) => sendInvite(callers[n % 4]!, id)))
  expect(statuses(responses)).toEqual({ 404: 6, 429: 14 })
})

test('RATE_LIMIT=off also turns off the limit of invitations', () =>
  withService({ INVITATIONS_PER_HOUR: '1', RATE_LIMIT: 'off' }, async ({ client }) => {
    const ada = await register(client)
    const { id } = await createProject(ada)
    for (const _ of upTo(3)) expectError(await sendInvite(ada, id), 404)
  }))

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
