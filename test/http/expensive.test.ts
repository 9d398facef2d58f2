import postgres from 'postgres'
import { eventually, expectError, holdTransaction, invite, make, makeProjects, openScene } from '../kit.ts'
import { openTestService, parseMessages, register, remainingBudget, statuses, streamBodyIn } from '../kit.ts'
import { untilRedisReady, upTo, withToken } from '../kit.ts'
import type { Answer, Client, Person } from '../kit.ts'

const { service, sql, ada, bob } = await openScene(['Ada', 'Bob'])
const projectId = await createProject(ada, 500)
const bobsTask = (await make(bob, '/tasks', { title: 'T', projectId: await createProject(bob, 300) })).id

async function createProject(owner: Client, tasks: number): Promise<string> {
  const { id } = await make(owner, '/projects', { name: 'P' })
  const operations = upTo(tasks).map((n) => ({ op: 'task.create', title: `T${n}` }))
  expect((await owner.post(`/projects/${id}/batch`, { operations })).status).toBe(200)
  return id
}

const manyCursors = Object.fromEntries(upTo(200).map((n) => [`${n}`, 0]))
const tasksAt = (client: Client, id: string, version: number) =>
  client.get(`/tasks?projectId=${id}&asOf=${version}`)
const dryUndo = (client: Client, id: string, body: object) =>
  client.post(`/projects/${id}/undo?dryRun=true`, body)

const expensive: [name: string, send: () => Promise<Answer>][] = [
  ['tasks at an early version', () => tasksAt(ada, projectId, 2)],
  ['a project at an early version', () => ada.get(`/projects/${projectId}?asOf=2`)],
  ['members at an early version', () => ada.get(`/projects/${projectId}/members?asOf=2`)],
  ['events of many projects', () => ada.post('/events/read', { after: manyCursors })],
  ['an undo of 20 events', () => dryUndo(ada, projectId, { seqs: upTo(20).map((n) => n + 3) })],
  ['an undo of a batch', () => dryUndo(ada, projectId, { batch: 2 })],
]

test.each(expensive)('an account has at most four concurrent requests for %s', async (_, send) => {
  const sent = upTo(10).map(send)
  const other = bob.get(`/tasks/${bobsTask}`)
  const responses = await Promise.all(sent)
  expect(statuses(responses)).toEqual({ 200: 4, 429: 6 })
  const rejected = responses.find(({ status }) => status === 429)!
  expectError(rejected, 429, 'Too many expensive requests of this account are in progress')
  expect(rejected.headers.get('retry-after')).toBe('1')
  expect((await other).status).toBe(200)
  expect((await send()).status).toBe(200)
})

test('an undo of a batch or of more than 10 events counts as expensive before its caller is rejected', async () => {
  const shared = await createProject(ada, 20)
  await invite(ada, shared, bob)
  const connection = postgres(service.env.DATABASE_URL!, { max: 1, onnotice: () => {} })
  for (const body of [{ batch: 2 }, { seqs: upTo(13).slice(2) }]) {
    // The log is locked, so that no rejection ends before the last request arrives.
    const unlock = await holdTransaction(connection, (tx) => tx`lock table events in access exclusive mode`)
    const limited: Answer[] = []
    const sent = upTo(10).map(async () => {
      const answer = await bob.post(`/projects/${shared}/undo`, body)
      if (answer.status === 429) limited.push(answer)
      return answer
    })
    await eventually('six rejections by the limit', () => limited.length === 6)
    await unlock()
    expect(statuses(await Promise.all(sent))).toEqual({ 403: 4, 429: 6 })
  }
  await connection.end()
})

// A number makes each request different, because a response from the cache would cost nothing.
const cheap: [name: string, send: (n: number) => Promise<Answer>][] = [
  ['a read at a recent version', () => tasksAt(ada, projectId, 450)],
  [
    'a history page',
    (n) => ada.get(`/projects/${projectId}/history?type=task.created&from=2020-01-01T00:00:00.0${10 + n}Z`),
  ],
  ['a feed page', (n) => ada.get(`/projects/${projectId}/events?types=task.created&after=${n}`)],
  ['events of one project', (n) => ada.post('/events/read', { after: { [projectId]: n } })],
  ['an undo of one event', () => dryUndo(ada, projectId, { seq: 3 })],
]

test.each(cheap)('%s has no limit of concurrent requests', async (_, send) => {
  expect(statuses(await Promise.all(upTo(10).map(send)))).toEqual({ 200: 10 })
})

test('a simple read does not wait for expensive reads in the database', async () => {
  const shared = await createProject(ada, 300)
  await invite(ada, shared, bob)
  const connection = postgres(service.env.DATABASE_URL!, { max: 1, onnotice: () => {} })
  const unlock = await holdTransaction(connection, (tx) => tx`lock table events in access exclusive mode`)
  const blocked = [ada, bob].flatMap((reader) => upTo(4).map(() => tasksAt(reader, shared, 2)))
  await eventually('a blocked read', async () => {
    const waiting = await sql`select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`
    return waiting.length > 0
  })
  for (const _ of upTo(3)) {
    const plain = await Promise.all(upTo(8).map(() => bob.get(`/tasks/${bobsTask}`)))
    expect(statuses(plain)).toEqual({ 200: 8 })
  }
  await unlock()
  expect(statuses(await Promise.all(blocked))).toEqual({ 200: 8 })
  await connection.end()
})

/** Sends a request, and returns how many reads it has cost. */
async function costOf(by: Person, send: (by: Person) => Promise<unknown>): Promise<number> {
  const remaining = async () => remainingBudget(await by.get('/auth/me'))
  const before = await remaining()
  await send(by)
  // The second request for the budget is a read, too.
  return before - (await remaining()) - 1
}

test('a request costs one read for its first rows, and more reads for many tasks, events, projects or rows of a snapshot', async () => {
  await using strict = await openTestService({ READS_PER_MINUTE: '99', WRITES_PER_MINUTE: '1000' })
  await untilRedisReady(strict)
  const eve = await register(strict.client)
  const ids = await makeProjects(eve, 3)
  await strict.services.database.background`
    insert into tasks (id, project_id, number, title, status, priority, created_at, updated_at, event_id)
    select uuidv7(), id, n, 'T', case when n <= 100 then 'DONE' else 'TODO' end, 'LOW', now(), now(), uuidv7()
    from unnest(${ids}::uuid[]) id, generate_series(1, 2500) n`
  await strict.services.database.background`
    update streams set last_number = 2500, version = 2500 where project_id = any(${ids}::uuid[])`
  // As if most tasks were deleted.
  await strict.services.database.background`
    update streams set last_number = 9000, version = 9000 where project_id = ${ids[1]!}`
  const past = await createProject(eve, 250)
  const counts = `/tasks/counts?projectId=${ids[0]}`
  const get = (path: string) => async (by: Client) => expect((await by.get(path)).status).toBe(200)
  const follow = (kinds: string) => async (by: Person) => {
    const path = `/projects/${ids[1]}/events?snapshot=${kinds}`
    for await (const { event } of parseMessages(await streamBodyIn(strict, by, path)))
      if (event === 'live') break
  }
  const costs: [cost: number, send: (by: Person) => Promise<unknown>][] = [
    ...[
      ...['', '?ready=true', '?noLabel=true&sort=-createdAt'],
      `?dueBefore=1970-01-01&projectId=${ids[0]}`,
    ].map((query): [number, ReturnType<typeof get>] => [1, get(`/tasks${query}`)]),
    [1, get('/tasks?sort=createdAt&dueBefore=1970-01-01')],
    [1, get('/tasks?sort=createdAt&noLabel=true&dueAfter=2027-01-01')],
    [3, get(counts)],
    [1, get(`${counts}&status=DONE`)],
    [3, get(`${counts}&by=status`)],
    [1, get(`${counts}&asOf=2500&status=DONE`)],
    [3, get(`${counts}&ready=true`)],
    [1 + 250 / 25, (by) => tasksAt(by, past, 1)],
    [1 + 200 / 10, (by) => by.post('/events/read', { after: manyCursors })],
    [1, follow('labels')],
    [13, follow('tasks,labels')],
  ]
  for (const [n, [cost, send]] of costs.entries())
    expect([n, await costOf(await withToken(eve, { name: `T${n}` }), send)]).toEqual([n, cost])
  const writes = remainingBudget(await eve.patch(`/projects/${past}`, { name: 'Q' }))
  const undone = await dryUndo(eve, past, { batch: 2 })
  expect(undone.status).toBe(200)
  // A header is reused for 100 ms, so it may leave out the last writes.
  expect(writes - remainingBudget(undone)).toBeWithin(100, 105)
})

// Up to 128 waiting requests are never rejected, however long they wait.
test.each([
  ['rejected', 400, () => ada.post('/tasks', { title: 7 })],
  ['successful', 200, (n: number) => ada.patch(`/projects/${projectId}`, { name: `P${n}` })],
])("many %s requests of one account do not delay another account's request", async (_, expected, busyOne) => {
  await bob.get(`/tasks/${bobsTask}`)
  let finished = 0
  const flood = upTo(120).map(async (n) => {
    const { status } = await busyOne(n)
    finished += 1
    return { status }
  })
  // This request is rejected without a query, so that only its place in the queue matters.
  await bob.post('/tasks', { title: 7 })
  expect(finished).toBeLessThan(60)
  expect(statuses(await Promise.all(flood))).toEqual({ [expected]: 120 })
})

test('waiting long polls do not block other requests of their account', async () => {
  const { id } = await make(ada, '/projects', { name: 'Quiet' })
  const polls = upTo(40).map(() => ada.get(`/projects/${id}/events?after=1&wait=20`))
  const reads = upTo(40).map(() => ada.post('/events/read', { after: { [id]: 1 }, wait: 20 }))
  expect((await ada.get(`/projects/${projectId}`)).status).toBe(200)
  await make(ada, '/tasks', { title: 'News', projectId: id })
  expect(statuses(await Promise.all([...polls, ...reads]))).toEqual({ 200: 80 })
  for (const poll of polls) expect((await poll).body).toHaveLength(1)
})
