import { expectError, invite, make, makeTasks, model, openScene, openTestService, readFeed } from '../kit.ts'
import { register, runBatch, unknownId, upTo } from '../kit.ts'
import type { Body } from '../kit.ts'
import { type EventsPage, expectEvents } from './feed.ts'

const { ada, grace, sql } = await openScene(['Ada', 'Grace'])
const openProject = async (by = ada) => (await make(by, '/projects', { name: 'Engine' })).id
const openProjects = (count: number) => Promise.all(upTo(count).map(() => openProject()))
const addTask = (projectId: string) => make(ada, '/tasks', { title: 'Draw', projectId })
const addComments = async (projectId: string, count: number) => {
  const { id: taskId } = await addTask(projectId)
  const comment = { op: 'comment.create', taskId, text: 'é'.repeat(20_000) }
  for (let left = count; left > 0; left -= 20)
    await runBatch(ada, projectId, Array(Math.min(20, left)).fill(comment))
}
const readMany = (after: object, more = {}, by = ada) => by.post('/events/read', { after, ...more })
const readOf = async (after: object, more = {}) => expectEvents(await readMany(after, more))
const seqsIn = ({ events }: Pick<EventsPage, 'events'>, projectId: string) =>
  events.filter((event) => event.projectId === projectId).map(({ seq }) => seq)
const from = (seq: number, ids: string[]): Record<string, number> =>
  Object.fromEntries(ids.map((id) => [id, seq]))
const feedPath = (projectId: string, query = '') => `/projects/${projectId}/events${query}`
const read = (projectId: string, query = '') => readFeed(ada, feedPath(projectId, query))
const seqsOf = async (projectId: string, query = '') => (await read(projectId, query)).map(({ seq }) => seq)

test('a project with many events does not delay the events of other projects', async () => {
  const [busy, ...others] = (await openProjects(13)) as [string, ...string[]]
  await makeTasks(ada, busy, 200)
  await Promise.all(others.map(addTask))
  const first = await readOf(from(0, [busy, ...others]), { limit: 50 })
  for (const one of others) expect(seqsIn(first, one)).toEqual([1, 2])
  expect(seqsIn(first, busy)).toEqual(upTo(4))
  const second = await readOf(first.after, { limit: 50 })
  expect(seqsIn(second, busy)).toEqual(upTo(54).slice(4))
})

test('if a caller has more projects than the limit, quiet projects are read although other projects always have new events', async () => {
  const ids = await openProjects(12)
  const [busy, quiet] = [ids.slice(0, 6), ids.slice(6)]
  await Promise.all(quiet.map(addTask))
  const received = new Map(ids.map((id) => [id, [] as number[]]))
  let after = from(0, ids)
  // Each call reads five of twelve projects at random; the probability that a project is never read is 10^-16.
  for (let i = 0; i < 70 && quiet.some((id) => received.get(id)!.length < 2); i++) {
    await Promise.all(busy.map(addTask))
    const found = await readOf(after, { limit: 5 })
    expect(found.events).toHaveLength(5)
    for (const id of ids) received.get(id)!.push(...seqsIn(found, id))
    after = found.after
  }
  for (const id of quiet) expect(received.get(id)).toEqual([1, 2])
  for (const id of busy) expect(received.get(id)).toEqual(upTo(after[id]!))
})

test('a response is limited in bytes, and the following responses contain all other events', async () => {
  const ids = await openProjects(3)
  const ends = from(22, ids)
  ends[ids[0]!] = 62
  for (const id of ids) await addComments(id, ends[id]! - 2)
  const received: EventsPage['events'] = []
  let [after, reads] = [from(0, ids), 0]
  for (; !Bun.deepEquals(after, ends); reads++) {
    const answer = await readMany(after, { limit: 500 })
    expect(Buffer.byteLength(answer.text)).toBeLessThan(1_048_576 + 10_000)
    const { events, after: next } = expectEvents(answer)
    // All projects advance by the same number of events, until they have no more.
    const steps = ids.filter((id) => next[id] !== ends[id]).map((id) => next[id]! - after[id]!)
    expect(Math.max(0, ...steps) - Math.min(...steps, Math.max(0, ...steps))).toBeLessThanOrEqual(1)
    received.push(...events)
    after = next
  }
  expect(reads).toBeGreaterThan(2)
  for (const id of ids) expect(seqsIn({ events: received }, id)).toEqual(upTo(ends[id]!))
  const [longest] = ids as [string]
  expect((await ada.get(feedPath(longest, '?limit=500'))).body.length).toBeLessThan(30)
  expect(await seqsOf(longest, '?limit=500&types=comment.created')).toEqual(upTo(62).slice(2))
})

test('`after` has the positions in the visible projects, and `gone` the other ids, whether or not their projects exist', async () => {
  const [own, quiet, hers, deleted] = [
    ...(await openProjects(2)),
    await openProject(grace),
    await openProject(),
  ]
  await ada.delete(`/projects/${deleted}`)
  const found = await readOf({
    ...from(0, [hers!, own!.toUpperCase(), deleted!]),
    [quiet!]: 1,
    [unknownId]: 9,
    none: 1,
  })
  expect(found.gone).toEqual([hers!, deleted!, unknownId, 'none'])
  expect([Object.entries(found.after), found.events.length]).toEqual([
    Object.entries(from(1, [own!, quiet!])),
    1,
  ])
  expect(await readOf({})).toEqual({ events: [], after: {}, gone: [] })
})

test('POST /events/read accepts at most 1,000 projects', async () => {
  const own = await openProject()
  const ids = upTo(1_001).map((n) => `${own.slice(0, -4)}${String(n).padStart(4, '0')}`)
  expect((await readMany(from(0, ids))).status).toBe(400)
  expect((await readOf(from(0, ids.slice(1)))).gone.length).toBeGreaterThan(998)
})

test('POST /events/read counts as a read and ignores an Idempotency-Key', async () => {
  await using strict = await openTestService({ READS_PER_MINUTE: '3', WRITES_PER_MINUTE: '2' })
  const bea = await register(strict.client)
  const { id } = await make(bea, '/projects', { name: 'Engine' })
  const send = () => bea.post('/events/read', { after: { [id]: 0 } }, { 'idempotency-key': 'once' })
  const first = await send()
  expect(first.headers.get('ratelimit-policy')).toStartWith('"reads"')
  await make(bea, '/tasks', { title: 'Draw', projectId: id })
  expect([first, await send()].map((answer) => expectEvents(answer).events.length)).toEqual([1, 2])
  expect([(await send()).status, (await send()).status]).toEqual([200, 429])
})

test('the feed contains every change in order, with rows as the API returns them', async () => {
  const project = await make(ada, '/projects', { name: 'Engine' })
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
  // An event of an earlier release stores the whole row in `before`; a new version makes the process read it.
  await sql`update events e set before = (select c.after from events c where c.project_id = e.project_id and c.seq = 3)
    where project_id = ${project.id} and seq = 4`
  await addTask(project.id)
  expect((await read(project.id))[3]).toEqual(events[3]!)
})

test('each page links to the next and names the version of the project', async () => {
  const projectId = await openProject()
  await makeTasks(ada, projectId, 4)
  const first = await ada.get(feedPath(projectId, '?limit=2'))
  const link = `</api/v1${feedPath(projectId, '?limit=2&after=2')}>; rel="next"`
  expect([first.headers.get('docket-version'), first.headers.get('link')]).toEqual(['5', link])
  const end = await ada.get(feedPath(projectId, '?after=5'))
  expect([end.text, end.headers.get('link'), end.headers.get('docket-version')]).toEqual(['[]', null, '5'])
  for (const query of ['', '?limit=2', `?types=${model.eventTypes.join(',')}`])
    expect(await seqsOf(projectId, query)).toEqual(upTo(5))
  expect(await seqsOf(projectId, '?types=task.deleted')).toEqual([])
})

const [json, stream] = ['application/json', 'text/event-stream']
/** Error messages, and the values of a parameter that cause the error in a page and in a stream. */
const invalid: Record<string, [parameter: string, values: string[]]> = {
  'types must be event types, separated by commas': [
    'types',
    ['task.exploded', '', 'task.created,', 'constructor'],
  ],
  'after must be a whole number': ['after', ['-1', 'x', '1.5', '1e3', '']],
  'limit must be a whole number from 1 to 500': ['limit', ['0', '501']],
  'wait must be a whole number from 0 to 25': ['wait', ['26', '-1', '1.5', 'long', '']],
  'after is ahead of the project': ['after', ['2']],
  'exceptActor must be the id of an account, or `me`': [
    'exceptActor',
    ['', 'Me', 'mine', 'me,me', `${ada.id}x`, '%00', 'null'],
  ],
  'snapshot must be': ['snapshot', ['', 'task', 'Tasks', 'tasks,', 'tasks, labels', 'webhooks', '%00']],
}

test.each([json, stream])('the feed rejects invalid parameters with 400 (Accept: %s)', async (accept) => {
  const projectId = await openProject()
  const rejection = async (query: string) => {
    const { status, body } = await ada.get(feedPath(projectId, `?${query}`), { accept })
    return `${status} ${body.message}`
  }
  for (const [message, [parameter, values]] of Object.entries(invalid))
    for (const value of values)
      expect(`${value}: ${await rejection(`${parameter}=${value}`)}`).toStartWith(`${value}: 400 ${message}`)
  expect(await rejection('snapshot=tasks&snapshot=labels')).toBe('400 snapshot is given more than once')
  expectError(await grace.get(feedPath(projectId, '?after=7'), { accept }), 404, 'Project not found')
})

const accepted: [type: string, accepts: (string | undefined)[]][] = [
  [json, [undefined, '', '*/*', 'text/html, application/xhtml+xml, */*;q=0.8', 'text/event-stream;q=0']],
  [json, [`${json}, text/event-stream;q=0.5`, 'text/event-stream; Q=0.000, */*', 'text/event-streams']],
  [json, ['application/x;about="text/event-stream"', 'text/event-stream;q=x', ',;="']],
  [stream, ['text/event-stream', 'TEXT/Event-Stream', 'text/event-stream; charset=UTF-8']],
  [stream, ['text/event-stream, */*', 'text/event-stream;q=0.1', `${json};q=0.5, text/event-stream`]],
]

test('Accept decides between a page and a stream, and every response of the feed has Accept in Vary', async () => {
  const path = feedPath(await openProject())
  // HEAD, because the body of a stream does not end.
  const headersOf = async (accept?: string) =>
    (await ada.call('HEAD', path, undefined, accept === undefined ? {} : { accept })).headers
  for (const [type, accepts] of accepted)
    for (const accept of accepts)
      expect([accept, (await headersOf(accept)).get('content-type')]).toEqual([accept, type])
  const plain = await headersOf()
  const vary = 'Authorization, Accept'
  for (const headers of [plain, await headersOf(stream)]) expect(headers.get('vary')).toBe(vary)
  for (const [status, query, more] of [
    [304, '', { 'if-none-match': plain.get('etag')! }],
    [400, '?after=9', { accept: json }],
    [400, '?after=9', { accept: stream }],
  ] as const) {
    const answer = await ada.get(path + query, more)
    expect([answer.status, answer.headers.get('vary')]).toEqual([status, vary])
  }
  expect((await ada.get('/projects?limit=1')).headers.get('vary')).toBe('Authorization')
})
