import { expectError, make, makeTasks, openScene, readFeed, streamBodyIn } from '../kit.ts'

const [json, stream] = ['application/json', 'text/event-stream']
const { service, sql, ada } = await openScene(['Ada'], { HISTORY_DAYS: '30' })
const feedPath = `/projects/${(await make(ada, '/projects', { name: 'Engine' })).id}/events`

/** Uses HEAD, because the body of a stream does not end. */
const headersOf = async (accept?: string) =>
  (await ada.call('HEAD', feedPath, undefined, accept === undefined ? {} : { accept })).headers

const accepted: [type: string, accepts: (string | undefined)[]][] = [
  [json, [undefined, '', '*/*', 'text/html, application/xhtml+xml, */*;q=0.8', 'text/event-stream;q=0']],
  [json, [`${json}, text/event-stream;q=0.5`, 'text/event-stream; Q=0.000, */*', 'text/event-streams']],
  [json, ['application/x;about="text/event-stream"', 'text/event-stream;q=x', ',;="']],
  [stream, ['text/event-stream', 'TEXT/Event-Stream', 'text/event-stream; charset=UTF-8']],
  [stream, ['text/event-stream, */*', 'text/event-stream;q=0.1', `${json};q=0.5, text/event-stream`]],
]

test('Accept decides between a page and a stream, and every response of the feed has Accept in Vary', async () => {
  for (const [type, accepts] of accepted)
    for (const accept of accepts)
      expect([accept, (await headersOf(accept)).get('content-type')]).toEqual([accept, type])
  const plain = await headersOf()
  const condition = { 'if-none-match': plain.get('etag')! }
  const answers = [
    [200, { status: 200, headers: plain }],
    [200, { status: 200, headers: await headersOf(stream) }],
    [304, await ada.get(feedPath, condition)],
    [400, await ada.get(`${feedPath}?after=9`, { accept: json })],
    [400, await ada.get(`${feedPath}?after=9`, { accept: stream })],
  ] as const
  for (const [status, answer] of answers)
    expect([answer.status, answer.headers.get('vary')]).toEqual([status, 'Authorization, Accept'])
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

async function openProject(count: number): Promise<string> {
  const { id } = await make(ada, '/projects', { name: 'Engine' })
  await makeTasks(ada, id, count - 1)
  return id
}
const removeBefore = (projectId: string, seq: number) =>
  sql`delete from events where project_id = ${projectId} and seq < ${seq}`
const feedOf = (projectId: string, query: string) => `/projects/${projectId}/events?${query}`
const goneBefore = (seq: number) => `Events before ${seq} are no longer kept`

test('rejects a position before the oldest stored event with 410, in every form of the feed', async () => {
  const id = await openProject(9)
  const first = await ada.get(feedOf(id, 'after=0'))
  await removeBefore(id, 5)
  const answers = [
    ...['after=3', 'after=3&wait=25', 'after=0&limit=1', 'after=0&types=comment.created'].map((query) =>
      ada.get(feedOf(id, query)),
    ),
    ada.get(feedOf(id, 'after=0'), { 'if-none-match': first.headers.get('etag')! }),
    ada.get(feedOf(id, 'after=0'), { accept: stream, 'last-event-id': '2' }),
    ada.post('/events/read', { after: { [id]: 3 } }),
  ]
  for (const answer of answers) expectError(await answer, 410, /^Events .*before 5 are no longer kept$/)
  const seqs = (await readFeed(ada, feedOf(id, 'after=4'))).map(({ seq }) => seq)
  expect(seqs).toEqual([5, 6, 7, 8, 9])
  for (const query of ['after=9', 'after=4&types=comment.created'])
    expect((await ada.get(feedOf(id, query))).text).toBe('[]')
})

test('a stream ends with 410 when events that its client has not yet received are deleted', async () => {
  const id = await openProject(300)
  const reader = (await streamBodyIn(service, ada, feedOf(id, 'after=0'))).getReader()
  const chunk = async () => new TextDecoder().decode((await reader.read()).value)
  expect(await chunk()).toStartWith('retry: ')
  expect(await chunk()).toContain('id: 100\n')
  await removeBefore(id, 201)
  const error = { statusCode: 410, message: goneBefore(201), error: 'Gone' }
  expect(await chunk()).toEndWith(`event: end\ndata: ${JSON.stringify(error)}\n\n`)
  expect((await reader.read()).done).toBe(true)
})
