import { expectError, make, openScene, openTestService, register, unknownId, upTo } from '../kit.ts'
import type { Person } from '../kit.ts'
import { expectEvents, type Event, type EventsPage } from './read-events.ts'

const { ada, grace } = await openScene(['Ada', 'Grace'])

const openProject = async (client = ada) => (await make(client, '/projects', { name: 'Engine' })).id
const addTask = (projectId: string, title = 'Draw') => make(ada, '/tasks', { title, projectId })

const addTasks = async (projectId: string, count: number) => {
  const operations = upTo(count).map((n) => ({ op: 'task.create', title: `T${n}` }))
  expect((await ada.post(`/projects/${projectId}/batch`, { operations })).status).toBe(200)
}
const read = (after: object, more = {}, client = ada) => client.post('/events/read', { after, ...more })
const readOf = async (after: object, more = {}) => expectEvents(await read(after, more))
const seqsOf = ({ events }: EventsPage, projectId: string) =>
  events.filter((event) => event.projectId === projectId).map(({ seq }) => seq)

const from = (seq: number, ids: string[]): Record<string, number> =>
  Object.fromEntries(ids.map((id) => [id, seq]))

test("one response contains the events of several projects, and these equal the events in each project's feed", async () => {
  const [one, other, quiet] = [await openProject(), await openProject(), await openProject()]
  await addTasks(one, 3)
  await addTask(other)
  const positions = { [one]: 1, [other.toUpperCase()]: 0, [quiet]: 1 }
  const found = await readOf(positions)
  const after = { [one]: 4, [other]: 2, [quiet]: 1 }
  expect({ ...found, events: [] }).toEqual({ events: [], after, gone: [] })
  expect(Object.keys(found.after)).toEqual([one, other, quiet])
  for (const [id, seq] of Object.entries(positions)) {
    const projectId = id.toLowerCase()
    const feed = (await ada.get(`/projects/${projectId}/events?after=${seq}`)).body
    const own = found.events.filter((event) => event.projectId === projectId)
    expect(own).toEqual(feed.map((event) => ({ ...event, projectId })) as never)
  }
  expect(await readOf(found.after)).toEqual({ events: [], after, gone: [] })
})

test('a project with many events does not delay the events of other projects', async () => {
  const busy = await openProject()
  await addTasks(busy, 200)
  const others: string[] = []
  for (const _ of upTo(12)) others.push(await openProject())
  for (const one of others) await addTask(one)
  const first = await readOf(from(0, [busy, ...others]), { limit: 50 })
  expect(first.events).toHaveLength(50)
  for (const one of others) expect(seqsOf(first, one)).toEqual([1, 2])
  expect(seqsOf(first, busy)).toEqual(upTo(26))
})

test('if a caller has more projects than the limit, quiet projects are read although other projects always have new events', async () => {
  const ids: string[] = []
  for (const _ of upTo(12)) ids.push(await openProject())
  const [busy, quiet] = [ids.slice(0, 6), ids.slice(6)]
  for (const one of quiet) await addTask(one)
  const received = new Map(ids.map((id) => [id, [] as number[]]))
  let after = from(0, ids)
  // Each call reads five of twelve projects at random; the probability that a project is never read is 10^-16.
  for (let i = 0; i < 70 && quiet.some((id) => received.get(id)!.length < 2); i++) {
    for (const one of busy) await addTask(one)
    const found = await readOf(after, { limit: 5 })
    expect(found.events).toHaveLength(5)
    for (const id of ids) received.get(id)!.push(...seqsOf(found, id))
    after = found.after
  }
  for (const id of quiet) expect(received.get(id)).toEqual([1, 2])
  for (const id of busy) expect(received.get(id)).toEqual(upTo(after[id]!))
})

test('a response is limited in bytes, and the following responses contain all other events', async () => {
  const ids = [await openProject(), await openProject(), await openProject()]
  for (const id of ids) {
    const task = await addTask(id)
    for (const _ of upTo(20)) await make(ada, `/tasks/${task.id}/comments`, { text: 'é'.repeat(20_000) })
  }
  const received: Event[] = []
  let after = from(0, ids)
  let reads = 0
  for (; reads === 0 || received.length < 66; reads++) {
    const answer = await read(after, { limit: 500 })
    expect(Buffer.byteLength(answer.text)).toBeLessThan(1_048_576 + 10_000)
    const { events, after: next } = expectEvents(answer)
    // All projects advance by the same number of events, until they have no more.
    const steps = ids.filter((id) => next[id] !== 22).map((id) => next[id]! - after[id]!)
    expect(Math.max(0, ...steps) - Math.min(...steps, Math.max(0, ...steps))).toBeLessThanOrEqual(1)
    received.push(...events)
    after = next
  }
  expect(reads).toBeGreaterThan(2)
  for (const id of ids) expect(seqsOf({ events: received, after: {}, gone: [] }, id)).toEqual(upTo(22))
})

test('the field `gone` lists the projects that the caller may not see, whether or not they exist', async () => {
  const [own, hers, deleted] = [await openProject(), await openProject(grace), await openProject()]
  await ada.delete(`/projects/${deleted}`)
  const found = await readOf({ ...from(0, [own, hers, deleted]), [unknownId]: 9, none: 1 })
  expect(found.gone).toEqual([hers, deleted, unknownId, 'none'])
  expect([found.after, found.events.length]).toEqual([{ [own]: 1 }, 1])
  expect(await readOf({})).toEqual({ events: [], after: {}, gone: [] })
})

test('rejects invalid positions, limits and waits with 400', async () => {
  const own = await openProject()
  expectError(await read({ [own]: 2 }), 400, `after.${own} is ahead of the project: it has no such version`)
  expectError(await read({ [own]: 0, [own.toUpperCase()]: 0 }), 400, `after.${own} is given more than once`)
  for (const after of [null, [], 'x', { [own]: -1 }, { [own]: '1' }, { [own]: 1.5 }, { [own]: null }])
    expectError(await read(after as object), 400, /^after must be an object with at most 1000 project ids/)
  const ids = Array.from({ length: 1_001 }, (_, i) => `${own.slice(0, -4)}${String(i).padStart(4, '0')}`)
  expect((await read(from(0, ids))).status).toBe(400)
  expect((await readOf(from(0, ids.slice(1)))).gone.length).toBeGreaterThan(998)
  for (const more of [0, 501, '5', 1.5].map((limit) => ({ limit }))) expectError(await read({}, more), 400)
  for (const more of [-1, 26, '5'].map((wait) => ({ wait }))) expectError(await read({}, more), 400)
  expectError(await read({}, { aftr: {} }), 400, 'aftr is not known here; did you mean after?')
  expectError(await read({}, {}, ada.as() as Person), 401, 'A bearer token is required')
})

test('POST /events/read counts as a read and ignores an Idempotency-Key', async () => {
  await using strict = await openTestService({ READS_PER_MINUTE: '3', WRITES_PER_MINUTE: '2' })
  const bea = await register(strict.client)
  const { id } = await make(bea, '/projects', { name: 'Engine' })
  const key = { 'idempotency-key': 'once' }
  const first = await bea.post('/events/read', { after: { [id]: 0 } }, key)
  expect(first.headers.get('ratelimit-policy')).toStartWith('"reads"')
  await make(bea, '/tasks', { title: 'Draw', projectId: id })
  const again = await bea.post('/events/read', { after: { [id]: 0 } }, key)
  expect([expectEvents(first).events.length, expectEvents(again).events.length]).toEqual([1, 2])
  expect((await bea.post('/events/read', { after: {} })).status).toBe(200)
  expect((await bea.post('/events/read', { after: {} })).status).toBe(429)
})
