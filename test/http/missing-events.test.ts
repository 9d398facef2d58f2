import { eventually, expectError, make, makeTasks, openScene, openStreamIn, readFeed } from '../kit.ts'
import { streamBodyIn, takeEvents, upTo } from '../kit.ts'

let projectId: string
let reads: number
/** The number of next reads that return no events. */
let emptyReads: number
/** If true, events are read from the database instead of from memory. */
let isMemoryEmpty: boolean
const { service, sql, ada } = await openScene(['Ada'], { HISTORY_DAYS: '30' })
const { recent } = service.services
const { after } = recent
recent.after = (range) => {
  reads += 1
  if (isMemoryEmpty) return undefined
  return reads > emptyReads ? after.call(recent, range) : []
}
beforeEach(async () => {
  projectId = (await make(ada, '/projects', { name: 'Engine' })).id
  ;[reads, emptyReads, isMemoryEmpty] = [0, 0, false]
})

const create = () => make(ada, '/tasks', { title: 'Draw', projectId })
const open = (query = '') => openStreamIn(service, ada, projectId, query)
const feedPath = (query: string) => `/projects/${projectId}/events?${query}`
const notify = (version: number) => service.services.notifications.publish([{ projectId, version }])
const deleteBefore = (seq: number) => sql`delete from events where project_id = ${projectId} and seq < ${seq}`
const ended = { event: 'end', data: { statusCode: 400, message: expect.stringContaining('is ahead') } }

/** Changes all event ids except the first, like a promoted standby that lost these events and stored others. */
async function replaceEvents() {
  await sql`update events set id = gen_random_uuid() where project_id = ${projectId} and seq > 1`
  await sql`update streams s set last_event_id = e.id from events e
    where s.project_id = ${projectId} and e.project_id = s.project_id and e.seq = s.version`
}

test('a stream reads once after a notification about a lost version, and again if a read returns no event yet', async () => {
  const messages = await open()
  const next = takeEvents(messages, 2)
  notify(2)
  await eventually('a read after the notification', () => reads > 0)
  for (const _ of upTo(100)) await ada.get('/projects')
  expect(reads).toBe(1)
  emptyReads = 4
  for (const _ of upTo(2)) await create()
  expect(await next).toMatchObject([{ id: '2', event: 'task.created' }, { id: '3' }])
  expect(reads).toBeGreaterThan(emptyReads)
  await messages.return()
})

test('a stream whose position is ahead of the stored version ends at the next notification', async () => {
  const messages = await open()
  await create()
  expect(await takeEvents(messages, 1)).toMatchObject([{ id: '2' }])
  await sql`delete from events where project_id = ${projectId} and seq = 2`
  await sql`update streams set version = 1, last_event_id =
    (select id from events where project_id = ${projectId} and seq = 1) where project_id = ${projectId}`
  notify(3)
  expect(await takeEvents(messages, 9)).toMatchObject([{ event: 'end', data: { statusCode: 400 } }])
})

test.each(['memory', 'the database', 'a notification'])(
  'a stream whose last event was replaced ends before it sends a later event from %s; a later stream continues',
  async (source) => {
    const streams = [await open(), await open()]
    for (const _ of upTo(2)) await create()
    for (const one of streams) expect(await takeEvents(one, 2)).toMatchObject([{ id: '2' }, { id: '3' }])
    await replaceEvents()
    const later = await open()
    const next = takeEvents(later, 1)
    isMemoryEmpty = source === 'the database'
    if (source === 'a notification') notify(4)
    else await create()
    for (const one of streams) expect(await takeEvents(one, 1)).toMatchObject([ended])
    if (source === 'a notification') await create()
    expect(await next).toMatchObject([{ id: '4', event: 'task.created' }])
    await later.return()
  },
)

test('a stream with a type filter ends when an event outside its filter was replaced', async () => {
  const next = takeEvents(await open('?types=comment.created'), 1)
  const { id } = await create()
  await eventually('a read of the event outside the filter', () => reads > 0)
  await replaceEvents()
  await create()
  await make(ada, `/tasks/${id}/comments`, { text: 'Sharp' })
  expect(await next).toMatchObject([ended])
})

test('a stream whose last event was deleted by retention continues', async () => {
  const messages = await open()
  await create()
  expect(await takeEvents(messages, 1)).toMatchObject([{ id: '2' }])
  isMemoryEmpty = true
  await sql`delete from events where project_id = ${projectId}`
  await create()
  expect(await takeEvents(messages, 1)).toMatchObject([{ id: '3', event: 'task.created' }])
  await messages.return()
})

test('rejects a position before the oldest stored event with 410, in every form of the feed', async () => {
  await makeTasks(ada, projectId, 8)
  const first = await ada.get(feedPath('after=0'))
  await deleteBefore(5)
  const answers = [
    ...['after=3', 'after=3&wait=25', 'after=0&limit=1', 'after=0&types=comment.created'].map((query) =>
      ada.get(feedPath(query)),
    ),
    ada.get(feedPath('after=0'), { 'if-none-match': first.headers.get('etag')! }),
    ada.get(feedPath('after=0'), { accept: 'text/event-stream', 'last-event-id': '2' }),
    ada.post('/events/read', { after: { [projectId]: 3 } }),
  ]
  for (const answer of answers) expectError(await answer, 410, /^Events .*before 5 are no longer kept$/)
  expect((await readFeed(ada, feedPath('after=4'))).map(({ seq }) => seq)).toEqual([5, 6, 7, 8, 9])
  for (const query of ['after=9', 'after=4&types=comment.created'])
    expect((await ada.get(feedPath(query))).text).toBe('[]')
})

test('a stream ends with 410 when events that its client has not yet received are deleted', async () => {
  isMemoryEmpty = true
  await makeTasks(ada, projectId, 299)
  const reader = (await streamBodyIn(service, ada, feedPath('after=0'))).getReader()
  const chunk = async () => new TextDecoder().decode((await reader.read()).value)
  expect(await chunk()).toStartWith('retry: ')
  expect(await chunk()).toContain('id: 100\n')
  await deleteBefore(201)
  const error = { statusCode: 410, message: 'Events before 201 are no longer kept', error: 'Gone' }
  expect(await chunk()).toEndWith(`event: end\ndata: ${JSON.stringify(error)}\n\n`)
  expect((await reader.read()).done).toBe(true)
})
