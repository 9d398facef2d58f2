import { expect, test } from 'bun:test'
import postgres from 'postgres'
import { eventually, upTo } from '../races/pair.ts'
import { type Answer, type Client, invite, make, register } from '../support/client.ts'
import { openTestService } from '../support/service.ts'
import { expectError, remainingBudget, countStatuses } from './responses.ts'
import { openScene } from '../support/scene.ts'

const { service, sql, ada, bob } = await openScene(['Ada', 'Bob'])
const projectId = await projectWith(ada, 500)
const bobsTask = (await make(bob, '/tasks', { title: 'T', projectId: await projectWith(bob, 300) })).id

async function projectWith(owner: Client, tasks: number): Promise<string> {
  const { id } = await make(owner, '/projects', { name: 'P' })
  const operations = upTo(tasks).map((n) => ({ op: 'task.create', title: `T${n}` }))
  expect((await owner.post(`/projects/${id}/batch`, { operations })).status).toBe(200)
  return id
}

/** Each as another request, for what a body is kept ready for costs nothing. */
const first = (n: number) => `2020-01-01T00:00:00.0${10 + n}Z`

test('of each expensive operation an account has four in progress, and others are not held up', async () => {
  const many = Object.fromEntries(upTo(200).map((n) => [`${n}`, 0]))
  const expensive: ((n: number) => Promise<Answer>)[] = [
    () => ada.get(`/tasks?projectId=${projectId}&asOf=2`),
    () => ada.get(`/projects/${projectId}?asOf=2`),
    () => ada.get(`/projects/${projectId}/members?asOf=2`),
    () => ada.post('/events/read', { after: many }),
    () => ada.post(`/projects/${projectId}/undo?dryRun=true`, { seqs: upTo(20).map((n) => n + 3) }),
    () => ada.post(`/projects/${projectId}/undo?dryRun=true`, { batch: 2 }),
  ]
  for (const ask of expensive) {
    const asked = upTo(10).map(ask)
    const other = bob.get(`/tasks/${bobsTask}`)
    const answers = await Promise.all(asked)
    expect(countStatuses(answers)).toEqual({ 200: 4, 429: 6 })
    const rejected = answers.find(({ status }) => status === 429)!
    expectError(rejected, 429, 'Too many expensive requests of this account are in progress')
    expect(rejected.headers.get('retry-after')).toBe('1')
    expect((await other).status).toBe(200)
    expect((await ask(10)).status).toBe(200)
  }
})

test('an undo of a batch or of more than 10 events is expensive, also for a caller who is then rejected', async () => {
  const shared = await projectWith(ada, 20)
  await invite(ada, shared, bob)
  for (const wanted of [{ batch: 2 }, { seqs: upTo(13).slice(2) }]) {
    const answers = await Promise.all(upTo(10).map(() => bob.post(`/projects/${shared}/undo`, wanted)))
    expect(countStatuses(answers)).toEqual({ 403: 4, 429: 6 })
  }
})

test('what looks through few events is not expensive', async () => {
  const plain: ((n: number) => Promise<Answer>)[] = [
    () => ada.get(`/tasks?projectId=${projectId}&asOf=450`),
    (n) => ada.get(`/projects/${projectId}/history?type=task.created&from=${first(n)}`),
    (n) => ada.get(`/projects/${projectId}/events?types=task.created&after=${n}`),
    (n) => ada.post('/events/read', { after: { [projectId]: n } }),
    () => ada.post(`/projects/${projectId}/undo?dryRun=true`, { seq: 3 }),
  ]
  for (const ask of plain) expect(countStatuses(await Promise.all(upTo(10).map(ask)))).toEqual({ 200: 10 })
})

test('a plain read does not wait behind expensive ones in the database', async () => {
  const shared = await projectWith(ada, 300)
  await invite(ada, shared, bob)
  const own = postgres(service.env.DATABASE_URL!, { max: 1, onnotice: () => {} })
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>()
  const { promise: isLocked, resolve: locked } = Promise.withResolvers<void>()
  const holding = own.begin(async (held) => {
    await held`lock table events in access exclusive mode`
    locked()
    await isOver
  })
  await isLocked
  const asked = [ada, bob].flatMap((who) => upTo(4).map(() => who.get(`/tasks?projectId=${shared}&asOf=2`)))
  const isWaiting = async () => {
    const [row] = await sql<{ n: number }[]>`
      select count(*)::int4 as n from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())`
    return row!.n > 0
  }
  await eventually('an expensive read', isWaiting)
  for (const _ of upTo(3)) {
    const plain = await Promise.all(upTo(8).map(() => bob.get(`/tasks/${bobsTask}`)))
    expect(countStatuses(plain)).toEqual({ 200: 8 })
  }
  end()
  await holding
  expect(countStatuses(await Promise.all(asked))).toEqual({ 200: 8 })
  await own.end()
})

test('the budget is charged by cost', async () => {
  await using strict = await openTestService({ READS_PER_MINUTE: '100', WRITES_PER_MINUTE: '1000' })
  const eve = await register(strict.client)
  const id = await projectWith(eve, 250)
  const before = remainingBudget(await eve.get(`/projects/${id}`))
  const past = await eve.get(`/tasks?projectId=${id}&asOf=1`)
  expect([past.status, before - remainingBudget(past)]).toEqual([200, 1 + 250 / 25])
  const many = Object.fromEntries(upTo(200).map((n) => [`${n}`, 0]))
  const read = await eve.post('/events/read', { after: many })
  expect([read.status, remainingBudget(past) - remainingBudget(read)]).toEqual([200, 1 + 200 / 10])
  const writes = remainingBudget(await eve.patch(`/projects/${id}`, { name: 'Q' }))
  const undone = await eve.post(`/projects/${id}/undo?dryRun=true`, { batch: 2 })
  expect(undone.status).toBe(200)
  expect(writes - remainingBudget(undone)).toBeWithin(100, 102) // what is told of a large budget may be a moment old
  const answers = await Promise.all(upTo(8).map(() => eve.get(`/tasks?projectId=${id}&asOf=1`)))
  expect(countStatuses(answers)[429]).toBeGreaterThan(0)
  for (let n = 0; n < 6; n++) await eve.get(`/tasks?projectId=${id}&asOf=1`)
  expectError(await eve.get(`/projects/${id}`), 429, /^Too many requests; try again/)
})
