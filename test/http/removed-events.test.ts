import { expectError, make, openScene, readFeed, streamBodyIn, upTo } from '../kit.ts'

const [json, stream] = ['application/json', 'text/event-stream']
const { service, sql, ada } = await openScene(['Ada'], { HISTORY_DAYS: '30' })
const feedPath = `/projects/${(await make(ada, '/projects', { name: 'Engine' })).id}/events`

/** Uses HEAD, because the body of a stream does not end. */
const headersOf = async (accept?: string) =>
  (await ada.call('HEAD', feedPath, undefined, accept === undefined ? {} : { accept })).headers

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
test.each(accepted)('sends %s for Accept: %p', async (type, accepts) => {
  for (const accept of accepts)
    expect([accept, (await headersOf(accept)).get('content-type')]).toEqual([accept, type])
})

test('every response of the feed has Accept in Vary: JSON, streams, 304 and errors', async () => {
  const vary = 'Authorization, Accept'
  const plain = await headersOf()
  expect([plain.get('vary'), (await headersOf(stream)).get('vary')]).toEqual([vary, vary])
  const unchanged = await ada.get(feedPath, { 'if-none-match': plain.get('etag')! })
  expect([unchanged.status, unchanged.headers.get('vary')]).toEqual([304, vary])
  for (const accept of [json, stream]) {
    const rejected = await ada.get(`${feedPath}?after=9`, { accept })
    expect([rejected.status, rejected.headers.get('vary')]).toEqual([400, vary])
  }
  expect((await ada.get('/projects')).headers.get('vary')).toBe('Authorization')
})

test('the error for an invalid stream position names what the client sent: after or Last-Event-ID', async () => {
  const open = (query: string, lastEventId?: string) =>
    ada.get(feedPath + query, { accept: stream, ...(lastEventId && { 'last-event-id': lastEventId }) })
  const ahead = 'is ahead of the project: it has no such version'
  for (const query of ['', '?after=1']) expectError(await open(query, '9'), 400, `Last-Event-ID ${ahead}`)
  expectError(await open('?after=9'), 400, `after ${ahead}`)
  for (const lastEventId of ['x', '1.5', '-1', '9'.repeat(16)])
    expectError(await open('', lastEventId), 400, 'Last-Event-ID must be the seq of an event')
})

async function openProject(count: number, firstKept = 1): Promise<string> {
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  const operations = upTo(count - 1).map((n) => ({ op: 'task.create', title: `T${n}` }))
  expect(await ada.post(`/projects/${projectId}/batch`, { operations })).toMatchObject({ status: 200 })
  await removeBefore(projectId, firstKept)
  return projectId
}
const removeBefore = (projectId: string, seq: number) =>
  sql`delete from events where project_id = ${projectId} and seq < ${seq}`
const feedOf = (projectId: string, query: string) => `/projects/${projectId}/events?${query}`
const goneBefore = (seq: number) => `Events before ${seq} are no longer kept`

test('rejects a position before the oldest stored event with 410, in every form of the feed', async () => {
  const projectId = await openProject(9)
  const first = await ada.get(feedOf(projectId, 'after=0'))
  await removeBefore(projectId, 5)
  for (const query of ['after=3', 'after=3&wait=25', 'after=0&limit=1', 'after=0&types=comment.created'])
    expectError(await ada.get(feedOf(projectId, query)), 410, goneBefore(5))
  const requests: Record<string, string>[] = [
    { 'if-none-match': first.headers.get('etag')! },
    { accept: stream, 'last-event-id': '2' },
  ]
  for (const headers of requests)
    expectError(await ada.get(feedOf(projectId, 'after=0'), headers), 410, goneBefore(5))
})

test('a client whose position is the last deleted event gets every stored event', async () => {
  const projectId = await openProject(9, 5)
  const seqs = (await readFeed(ada, feedOf(projectId, 'after=4'))).map(({ seq }) => seq)
  expect(seqs).toEqual([5, 6, 7, 8, 9])
  for (const query of ['after=9', 'after=4&types=comment.created'])
    expect((await ada.get(feedOf(projectId, query))).text).toBe('[]')
})

test('a stream ends with 410 when events that its client has not yet received are deleted', async () => {
  const projectId = await openProject(300)
  const reader = (await streamBodyIn(service, ada, feedOf(projectId, 'after=0'))).getReader()
  const chunk = async () => new TextDecoder().decode((await reader.read()).value)
  expect(await chunk()).toStartWith('retry: ')
  expect(await chunk()).toContain('id: 100\n')
  await removeBefore(projectId, 201)
  const error = { statusCode: 410, message: goneBefore(201), error: 'Gone' }
  expect(await chunk()).toEndWith(`event: end\ndata: ${JSON.stringify(error)}\n\n`)
  expect((await reader.read()).done).toBe(true)
})
