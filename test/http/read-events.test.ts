import fc from 'fast-check'
import { allPages, applyEvent, cases, emptyReplica, expectError, invite, make, model } from '../kit.ts'
import { nextPath, openScene, openTestService, readFeed, register, statusAndMessage } from '../kit.ts'
import { unknownId, upTo } from '../kit.ts'
import type { Body, Person, Replica } from '../kit.ts'
import { type Event, type EventsPage, expectEvents } from './read-events.ts'

const { ada, grace, client, sql } = await openScene(['Ada', 'Grace'])

const openProject = async (client = ada) => (await make(client, '/projects', { name: 'Engine' })).id
const addTask = (projectId: string, title = 'Draw') => make(ada, '/tasks', { title, projectId })

const addTasks = async (projectId: string, count: number) => {
  const operations = upTo(count).map((n) => ({ op: 'task.create', title: `T${n}` }))
  expect((await ada.post(`/projects/${projectId}/batch`, { operations })).status).toBe(200)
}
const readMany = (after: object, more = {}, client = ada) => client.post('/events/read', { after, ...more })
const readOf = async (after: object, more = {}) => expectEvents(await readMany(after, more))
const seqsIn = ({ events }: EventsPage, projectId: string) =>
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
  for (const one of others) expect(seqsIn(first, one)).toEqual([1, 2])
  expect(seqsIn(first, busy)).toEqual(upTo(26))
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
    for (const id of ids) received.get(id)!.push(...seqsIn(found, id))
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
    const answer = await readMany(after, { limit: 500 })
    expect(Buffer.byteLength(answer.text)).toBeLessThan(1_048_576 + 10_000)
    const { events, after: next } = expectEvents(answer)
    // All projects advance by the same number of events, until they have no more.
    const steps = ids.filter((id) => next[id] !== 22).map((id) => next[id]! - after[id]!)
    expect(Math.max(0, ...steps) - Math.min(...steps, Math.max(0, ...steps))).toBeLessThanOrEqual(1)
    received.push(...events)
    after = next
  }
  expect(reads).toBeGreaterThan(2)
  for (const id of ids) expect(seqsIn({ events: received, after: {}, gone: [] }, id)).toEqual(upTo(22))
})

test('the field `gone` lists the projects that the caller may not see, whether or not they exist', async () => {
  const [own, hers, deleted] = [await openProject(), await openProject(grace), await openProject()]
  await ada.delete(`/projects/${deleted}`)
  const found = await readOf({ ...from(0, [hers, own, deleted]), [unknownId]: 9, none: 1 })
  expect(found.gone).toEqual([hers, deleted, unknownId, 'none'])
  expect([found.after, found.events.length]).toEqual([{ [own]: 1 }, 1])
  expect(await readOf({})).toEqual({ events: [], after: {}, gone: [] })
})

test('rejects invalid positions, limits and waits with 400', async () => {
  const own = await openProject()
  expectError(
    await readMany({ [own]: 2 }),
    400,
    `after.${own} is ahead of the project: it has no such version`,
  )
  expectError(
    await readMany({ [own]: 0, [own.toUpperCase()]: 0 }),
    400,
    `after.${own} is given more than once`,
  )
  for (const after of [null, [], 'x', { [own]: -1 }, { [own]: '1' }, { [own]: 1.5 }, { [own]: null }])
    expectError(
      await readMany(after as object),
      400,
      /^after must be an object with at most 1000 project ids/,
    )
  const ids = Array.from({ length: 1_001 }, (_, i) => `${own.slice(0, -4)}${String(i).padStart(4, '0')}`)
  expect((await readMany(from(0, ids))).status).toBe(400)
  expect((await readOf(from(0, ids.slice(1)))).gone.length).toBeGreaterThan(998)
  for (const more of [0, 501, '5', 1.5].map((limit) => ({ limit })))
    expectError(await readMany({}, more), 400)
  for (const more of [-1, 26, '5'].map((wait) => ({ wait }))) expectError(await readMany({}, more), 400)
  expectError(await readMany({}, { aftr: {} }), 400, 'aftr is not known here; did you mean after?')
  expectError(await readMany({}, {}, ada.as() as Person), 401, 'A bearer token is required')
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

const createProject = async () => (await make(ada, '/projects', { name: 'Engine' })).id
const feedPath = (projectId: string, query = '') => `/projects/${projectId}/events${query}`
const read = (projectId: string, query = '') => readFeed(ada, feedPath(projectId, query))
const seqsOf = async (projectId: string, query = '') => (await read(projectId, query)).map(({ seq }) => seq)

test('the feed contains every change in order, with rows as the API returns them', async () => {
  const project = await make(ada, '/projects', { name: 'Engine' })
  const grace = await register(client, 'Grace')
  const member = await invite(ada, project.id, grace, 'EDITOR')
  const task = await make(grace, '/tasks', { title: 'Draw', projectId: project.id })
  const changed = (await grace.patch(`/tasks/${task.id}`, { status: 'DONE', title: 'Draw' })).body
  const subtask = await make(grace, `/tasks/${task.id}/subtasks`, { title: 'Sharpen' })
  await grace.patch(`/tasks/subtasks/${subtask.id}/toggle`)
  const comment = await make(grace, `/tasks/${task.id}/comments`, { text: 'Oil it' })
  await ada.delete(`/tasks/comments/${comment.id}`)
  const events = await read(project.id)
  const changedFields = ({ status, updatedAt }: Body) => ({ status, updatedAt })
  const expected: [type: string, before: unknown, after: unknown][] = [
    ['project.created', null, project],
    ['member.invited', null, member],
    ['task.created', null, task],
    ['task.updated', changedFields(task), changedFields(changed)],
    ['subtask.created', null, subtask],
    ['subtask.toggled', { completed: false }, { completed: true }],
    ['comment.created', null, comment],
    ['comment.deleted', comment, null],
  ]
  expect(events.map(({ type, before, after }): unknown[] => [type, before, after])).toEqual(expected)
  expect(events.map(({ seq }) => seq)).toEqual(upTo(8))
  expect(events.map(({ taskId }) => taskId)).toEqual([null, null, ...Array(6).fill(task.id)])
  const actor = { id: grace.id, name: 'Grace' }
  expect(events[3]).toMatchObject({ actor, entity: 'task', entityId: task.id, batch: null })
  expect(new Set(events.map(({ id }) => id)).size).toBe(8)
})

test('each page links to the next and names the version of the project', async () => {
  const projectId = await createProject()
  for (const n of upTo(4)) await make(ada, '/tasks', { title: `T${n}`, projectId })
  const first = await ada.get(feedPath(projectId, '?limit=2'))
  const link = `</api/v1${feedPath(projectId, '?limit=2&after=2')}>; rel="next"`
  expect([first.headers.get('docket-version'), first.headers.get('link')]).toEqual(['5', link])
  expect(await seqsOf(projectId, '?limit=2')).toEqual(upTo(5))
  expect(await seqsOf(projectId, '?after=3')).toEqual([4, 5])
  const end = await ada.get(feedPath(projectId, '?after=5'))
  expect([end.text, end.headers.get('link'), end.headers.get('docket-version')]).toEqual(['[]', null, '5'])
})

test('a page with many bytes ends early, and its link continues with the next event', async () => {
  const projectId = await createProject()
  const { id: taskId } = await make(ada, '/tasks', { title: 'Talk', projectId })
  for (const _ of upTo(60)) await make(ada, `/tasks/${taskId}/comments`, { text: 'é'.repeat(20_000) })
  expect((await ada.get(feedPath(projectId, '?limit=500'))).body.length).toBeLessThan(30)
  expect(await seqsOf(projectId, '?limit=500&types=comment.created')).toEqual(upTo(62).slice(2))
})

test('the parameter types selects events by type', async () => {
  const projectId = await createProject()
  const task = await make(ada, '/tasks', { title: 'Draw', projectId })
  await ada.patch(`/tasks/${task.id}`, { status: 'DONE' })
  await make(ada, `/tasks/${task.id}/comments`, { text: 'Oil it' })
  expect(await seqsOf(projectId, '?types=task.created,comment.created')).toEqual([2, 4])
  expect(await seqsOf(projectId, '?types=task.updated&limit=1')).toEqual([3])
  expect(await seqsOf(projectId, '?types=task.deleted')).toEqual([])
  expect(await seqsOf(projectId, `?types=${model.eventTypes.join(',')}`)).toEqual(upTo(4))
})

test('rejects invalid parameters with 400, and strangers and deleted projects with 404', async () => {
  const projectId = await createProject()
  const stranger = await register(client)
  const invalid: Record<string, string[]> = {
    'types must be event types, separated by commas': [
      ...['types=task.exploded', 'types=', 'types=task.created,', 'types=constructor'],
    ],
    'after must be a whole number': ['after=-1', 'after=x', 'after=1.5', 'after=1e3', 'after='],
    'limit must be a whole number from 1 to 500': ['limit=0', 'limit=501'],
    'after is ahead of the project': ['after=2'],
  }
  for (const [message, queries] of Object.entries(invalid))
    for (const query of queries)
      expect(await statusAndMessage(ada, feedPath(projectId, `?${query}`))).toStartWith(`400 ${message}`)
  for (const path of [feedPath(projectId), feedPath(projectId, '?after=7'), feedPath('none')])
    expect(await statusAndMessage(stranger, path)).toBe('404 Project not found')
  await ada.delete(`/projects/${projectId}`)
  expect(await statusAndMessage(ada, feedPath(projectId))).toBe('404 Project not found')
})

test('an event of an earlier release, which stores the whole row in before, is returned like every other event', async () => {
  const projectId = await createProject()
  const task = await make(ada, '/tasks', { title: 'Draw', projectId })
  await ada.patch(`/tasks/${task.id}`, { priority: 'HIGH' })
  const [, , event] = await read(projectId)
  await sql`
    update events e set before = (select c.after from events c where c.project_id = e.project_id and c.seq = 2)
    where project_id = ${projectId} and seq = 3`
  // Sets a new version, so that the process reads the changed row again.
  await make(ada, '/tasks', { title: 'Another', projectId })
  expect((await read(projectId))[2]).toEqual(event!)
})

const byId = (rows: Iterable<object>) => [...rows].sort((a, b) => ((a as Body).id < (b as Body).id ? -1 : 1))
const listAll = async (path: string) => (await allPages(ada, path)).flat()

async function readLists(projectId: string): Promise<Record<string, object[]>> {
  const tasks = await listAll(`/tasks?projectId=${projectId}`)
  const childrenOf = async (list: string) =>
    byId((await Promise.all(tasks.map(({ id }) => listAll(`/tasks/${id}/${list}`)))).flat())
  return {
    project: [(await ada.get(`/projects/${projectId}`)).body],
    member: byId(await listAll(`/projects/${projectId}/members`)),
    task: byId(tasks),
    subtask: await childrenOf('subtasks'),
    comment: await childrenOf('comments'),
  }
}

const rowsOf = (replica: Replica) =>
  Object.fromEntries(Object.entries(replica).map(([entity, rows]) => [entity, byId(rows.values())]))

async function write(projectId: string, otherId: string, [kind, n]: [number, number]): Promise<void> {
  const tasks = await listAll(`/tasks?projectId=${projectId}`)
  const task = tasks[n % Math.max(1, tasks.length)]
  if (!task || kind === 0) return void (await make(ada, '/tasks', { title: `T${n}`, projectId }))
  if (kind === 1) await ada.patch(`/tasks/${task.id}`, { status: 'DONE', title: `U${n}` })
  if (kind === 2) await make(ada, `/tasks/${task.id}/subtasks`, { title: `S${n}` })
  if (kind === 3) await make(grace, `/tasks/${task.id}/comments`, { text: `C${n}` })
  if (kind === 4) await ada.delete(`/tasks/${task.id}`)
  if (kind === 5) await ada.patch(`/tasks/${task.id}`, { projectId: otherId })
  if (kind === 6) {
    const [moved] = await listAll(`/tasks?projectId=${otherId}`)
    if (moved) await ada.patch(`/tasks/${moved.id}`, { projectId })
  }
  if (kind === 7) await ada.patch(`/projects/${projectId}`, { description: `D${n}` })
}

async function createShared(): Promise<string> {
  const id = await createProject()
  await invite(ada, id, grace, 'EDITOR')
  return id
}

const writes = (maxLength: number) => fc.array(fc.tuple(fc.nat(7), fc.nat(20)), { maxLength })

test('a copy from a list and the later events, and a copy from all events, both equal the current rows', async () => {
  const property = fc.asyncProperty(writes(10), writes(15), async (before, during) => {
    const [projectId, otherId] = [await createShared(), await createShared()]
    for (const one of before) await write(projectId, otherId, one)
    const fromList = emptyReplica()
    let version: string | null = null
    for (let next: string | undefined = `/tasks?projectId=${projectId}&limit=1`; next;) {
      const { body, headers } = await ada.get(next)
      version ??= headers.get('docket-version')
      for (const task of body) fromList.task.set(task.id, task as unknown as Record<string, unknown>)
      next = nextPath(headers)
      const one = during.pop()
      if (one) await write(projectId, otherId, one)
    }
    for (const one of during) await write(projectId, otherId, one)
    for (const event of await readFeed(ada, `/projects/${projectId}/events?after=${version}`))
      applyEvent(fromList, event)
    expect(byId(fromList.task.values())).toEqual((await readLists(projectId)).task!)
    for (const id of [projectId, otherId]) {
      const replica = emptyReplica()
      const events = await readFeed(ada, `/projects/${id}/events?limit=7`)
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1))
      for (const event of events) applyEvent(replica, event)
      expect(rowsOf(replica)).toEqual(await readLists(id))
    }
  })
  await fc.assert(property, { numRuns: cases(4) })
})
