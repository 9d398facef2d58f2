import { expect, test } from 'bun:test'
import { make } from '../support/client.ts'
import { expectRefusal } from './answers.ts'
import { openScene } from '../support/scene.ts'

const [json, stream] = ['application/json', 'text/event-stream']
const { ada } = await openScene(['Ada'])
const path = `/projects/${(await make(ada, '/projects', { name: 'Engine' })).id}/events`

/** Without its body, which does not end where it is a stream. */
const headersOf = async (accept?: string) =>
  (await ada.call('HEAD', path, undefined, accept === undefined ? {} : { accept })).headers

for (const [accept, type] of [
  [undefined, json],
  ['', json],
  ['*/*', json],
  ['text/html, application/xhtml+xml, */*;q=0.8', json],
  ['text/event-stream', stream],
  ['TEXT/Event-Stream', stream],
  ['text/event-stream; charset=UTF-8', stream],
  ['text/event-stream, */*', stream],
  ['text/event-stream;q=0.1', stream],
  ['application/json;q=0.5, text/event-stream', stream],
  ['application/json, text/event-stream;q=0.5', json],
  ['text/event-stream;q=0', json],
  ['text/event-stream; Q=0.000, */*', json],
  ['text/event-streams', json],
  ['application/x;about="text/event-stream"', json],
  ['text/event-stream;q=x', json],
  [',;="', json],
] as const) {
  test(`who accepts ${accept ?? 'whatever there is'} gets ${type}`, async () => {
    expect((await headersOf(accept)).get('content-type')).toBe(type)
  })
}

test('what is a stream to who asks for one says so to caches, in either kind and where nothing is new', async () => {
  const vary = 'Authorization, Accept'
  const plain = await headersOf()
  expect([plain.get('vary'), (await headersOf(stream)).get('vary')]).toEqual([vary, vary])
  const known = await ada.get(path, { 'if-none-match': plain.get('etag')! })
  expect([known.status, known.headers.get('vary')]).toEqual([304, vary])
  for (const accept of [json, stream]) {
    const refused = await ada.get(`${path}?after=9`, { accept })
    expect([refused.status, refused.headers.get('vary')]).toEqual([400, vary])
  }
  expect((await ada.get('/projects')).headers.get('vary')).toBe('Authorization')
})

test('a place where no stream begins is called what its reader called it', async () => {
  const asking = (query: string, said?: string) =>
    ada.get(path + query, { accept: stream, ...(said && { 'last-event-id': said }) })
  const ahead = 'is ahead of the project: it has no such version'
  expectRefusal(await asking('', '9'), 400, `Last-Event-ID ${ahead}`)
  expectRefusal(await asking('?after=1', '9'), 400, `Last-Event-ID ${ahead}`)
  expectRefusal(await asking('?after=9'), 400, `after ${ahead}`)
  for (const said of ['x', '1.5', '-1', '9'.repeat(16)])
    expectRefusal(await asking('', said), 400, 'Last-Event-ID must be the seq of an event')
})
