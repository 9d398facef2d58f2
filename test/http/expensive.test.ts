import postgres from 'postgres'
import { eventually, expectError, holdTransaction, invite, make, openScene, openTestService } from '../kit.ts'
import { register, remainingBudget, statuses, upTo } from '../kit.ts'
import type { Answer, Client } from '../kit.ts'

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
  for (const body of [{ batch: 2 }, { seqs: upTo(13).slice(2) }]) {
    const responses = await Promise.all(upTo(10).map(() => bob.post(`/projects/${shared}/undo`, body)))
    expect(statuses(responses)).toEqual({ 403: 4, 429: 6 })
  }
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

test('an expensive request counts as one request for each 25 events or 10 projects', async () => {
  await using strict = await openTestService({ READS_PER_MINUTE: '100', WRITES_PER_MINUTE: '1000' })
  const eve = await register(strict.client)
  const id = await createProject(eve, 250)
  const before = remainingBudget(await eve.get(`/projects/${id}`))
  const past = await tasksAt(eve, id, 1)
  expect([past.status, before - remainingBudget(past)]).toEqual([200, 1 + 250 / 25])
  const read = await eve.post('/events/read', { after: manyCursors })
  expect([read.status, remainingBudget(past) - remainingBudget(read)]).toEqual([200, 1 + 200 / 10])
  const writes = remainingBudget(await eve.patch(`/projects/${id}`, { name: 'Q' }))
  const undone = await dryUndo(eve, id, { batch: 2 })
  expect(undone.status).toBe(200)
  // A process reserves parts of a large budget, so the header may lag behind.
  expect(writes - remainingBudget(undone)).toBeWithin(100, 102)
  const responses = await Promise.all(upTo(8).map(() => tasksAt(eve, id, 1)))
  expect(statuses(responses)[429]).toBeGreaterThan(0)
  for (const _ of upTo(6)) await tasksAt(eve, id, 1)
  expectError(await eve.get(`/projects/${id}`), 429, /^Too many requests; try again/)
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
