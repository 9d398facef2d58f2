import { expect, test } from 'bun:test'
import { readEventPage } from '../../modules/events/pages.ts'
import { upTo } from '../races/pair.ts'
import { make } from '../support/client.ts'
import { openScene } from '../support/scene.ts'
import { expectError } from './responses.ts'
import { readFeed } from './feed.ts'
import { streamBodyIn } from './streaming.ts'

const [json, stream] = ['application/json', 'text/event-stream']
const { service, sql, ada } = await openScene(['Ada'], { HISTORY_DAYS: '30' })
const engine = `/projects/${(await make(ada, '/projects', { name: 'Engine' })).id}/events`

/** Without its body, which does not end where it is a stream. */
const headersOf = async (accept?: string) =>
  (await ada.call('HEAD', engine, undefined, accept === undefined ? {} : { accept })).headers

const accepted: [type: string, accepts: (string | undefined)[]][] = [
  [json, [undefined, '', '*/*', 'text/html, application/xhtml+xml, */*;q=0.8', 'text/event-stream;q=0']],
  [stream, ['text/event-stream', 'TEXT/Event-Stream', 'text/event-stream; charset=UTF-8']],
  [
    stream,
    ['text/event-stream, */*', 'text/event-stream;q=0.1', 'application/json;q=0.5, text/event-stream'],
  ],
  [
    json,
    ['application/json, text/event-stream;q=0.5', 'text/event-stream; Q=0.000, */*', 'text/event-streams'],
  ],
  [json, ['application/x;about="text/event-stream"', 'text/event-stream;q=x', ',;="']],
]
test.each(accepted)('%s is sent to who accepts %p', async (type, accepts) => {
  for (const accept of accepts)
    expect([accept, (await headersOf(accept)).get('content-type')]).toEqual([accept, type])
})

test('what is a stream to who asks for one says so to caches, in either kind and where nothing is new', async () => {
  const vary = 'Authorization, Accept'
  const plain = await headersOf()
  expect([plain.get('vary'), (await headersOf(stream)).get('vary')]).toEqual([vary, vary])
  const known = await ada.get(engine, { 'if-none-match': plain.get('etag')! })
  expect([known.status, known.headers.get('vary')]).toEqual([304, vary])
  for (const accept of [json, stream]) {
    const refused = await ada.get(`${engine}?after=9`, { accept })
    expect([refused.status, refused.headers.get('vary')]).toEqual([400, vary])
  }
  expect((await ada.get('/projects')).headers.get('vary')).toBe('Authorization')
})

test('a place where no stream begins is called what its reader called it', async () => {
  const asking = (query: string, said?: string) =>
    ada.get(engine + query, { accept: stream, ...(said && { 'last-event-id': said }) })
  const ahead = 'is ahead of the project: it has no such version'
  for (const query of ['', '?after=1']) expectError(await asking(query, '9'), 400, `Last-Event-ID ${ahead}`)
  expectError(await asking('?after=9'), 400, `after ${ahead}`)
  for (const said of ['x', '1.5', '-1', '9'.repeat(16)])
    expectError(await asking('', said), 400, 'Last-Event-ID must be the seq of an event')
})

/** A project with so many events, of which those before a seq are removed. */
async function openProject(count: number, kept = 1): Promise<string> {
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  const operations = upTo(count - 1).map((n) => ({ op: 'task.create', title: `T${n}` }))
  expect(await ada.post(`/projects/${projectId}/batch`, { operations })).toMatchObject({ status: 200 })
  await removeBefore(projectId, kept)
  return projectId
}
const removeBefore = (projectId: string, seq: number) =>
  sql`delete from events where project_id = ${projectId} and seq < ${seq}`
const feedOf = (projectId: string, query: string) => `/projects/${projectId}/events?${query}`
const goneBefore = (seq: number) => `Events before ${seq} are no longer kept`

test('who goes on after what is no longer kept is told so, however they ask', async () => {
  const projectId = await openProject(9)
  const had = await ada.get(feedOf(projectId, 'after=0'))
  await removeBefore(projectId, 5)
  for (const query of ['after=3', 'after=3&wait=25', 'after=0&limit=1', 'after=0&types=comment.created'])
    expectError(await ada.get(feedOf(projectId, query)), 410, goneBefore(5))
  const known = { 'if-none-match': had.headers.get('etag')! }
  const headersOfAsks: Record<string, string>[] = [
    {},
    known,
    { accept: stream },
    { accept: stream, 'last-event-id': '2' },
  ]
  for (const headers of headersOfAsks)
    expectError(await ada.get(feedOf(projectId, 'after=0'), headers), 410, goneBefore(5))
})

test('who had the last of what went misses nothing', async () => {
  const projectId = await openProject(9, 5)
  const seqs = (await readFeed(ada, feedOf(projectId, 'after=4'))).map(({ seq }) => seq)
  expect(seqs).toEqual([5, 6, 7, 8, 9])
  for (const query of ['after=9', 'after=4&types=comment.created'])
    expect((await ada.get(feedOf(projectId, query))).text).toBe('[]')
})

for (const types of [null, ['task.created'], ['comment.created']])
  test(`events that go while they are read are not skipped: ${types}`, async () => {
    const projectId = await openProject(9, 5)
    const seen = (await service.services.findRole({ userId: ada.id }, projectId))!
    const { database, oldestSeq } = service.services
    const reading = readEventPage(database.reads, oldestSeq, { ...seen, after: 2, limit: 100, types })
    await expect(reading).rejects.toMatchObject({ status: 410, message: goneBefore(5) })
  })

test('a stream whose place is gone before its reader took what was there ends, and says why', async () => {
  const projectId = await openProject(300)
  const reader = (await streamBodyIn(service, ada, feedOf(projectId, 'after=0'))).getReader()
  const chunk = async () => new TextDecoder().decode((await reader.read()).value)
  expect(await chunk()).toStartWith('retry: ')
  expect(await chunk()).toContain('id: 100\n')
  await removeBefore(projectId, 201)
  const said = { statusCode: 410, message: goneBefore(201), error: 'Gone' }
  expect(await chunk()).toEndWith(`event: end\ndata: ${JSON.stringify(said)}\n\n`)
  expect((await reader.read()).done).toBe(true)
})
