import fc from 'fast-check'
import { cases, newId } from '../kit.ts'
import { readIdPage, isIdPart, nextLink, readCursor, writeCursor } from '../../src/reads/pages.ts'
import { openBodyCache } from '../../src/responses/reply.ts'

const notOurs = 'cursor must be from a Link header of this list'
const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

describe('cursor', () => {
  const id = newId()

  test('decodes to the key that it was made from', () => {
    expect(readCursor(writeCursor([id]), [isIdPart])).toEqual([id])
    expect(readIdPage({ cursor: writeCursor([id]), limit: '7' }, 50, 200)).toEqual({ cursor: id, limit: 7 })
    expect(readIdPage({}, 50, 200)).toEqual({ cursor: null, limit: 50 })
  })

  test('rejects an invalid cursor', () => {
    const property = fc.property(fc.string({ unit: 'binary' }), (garbage) => {
      expect(() => readCursor(garbage, [isIdPart])).toThrow(notOurs)
    })
    fc.assert(property, { numRuns: cases(250) })
    for (const text of [
      '',
      '====',
      '%00',
      'null',
      id,
      ...[[id, id], [[id]], [id.toUpperCase()]].map(encoded),
    ])
      expect(() => readCursor(text, [isIdPart])).toThrow(notOurs)
  })
})

describe('link to the next page', () => {
  test("contains the request's URL with the new cursor", () => {
    const link = nextLink(
      'http://localhost:3000/api/v1/tasks?status=DONE&cursor=old&limit=5',
      'cursor',
      'new',
    )
    expect(link).toBe('</api/v1/tasks?status=DONE&cursor=new&limit=5>; rel="next"')
    expect(nextLink('https://example.com/api/v1/projects', 'cursor', 'c')).toBe(
      '</api/v1/projects?cursor=c>; rel="next"',
    )
  })

  test("escapes characters of the request's URL", () => {
    const link = nextLink('http://localhost/tasks?assigneeId=%3E%3B%20rel%3D%22prev%22', 'cursor', 'c')
    expect(link.match(/[<>]/g)).toEqual(['<', '>'])
    expect(link.match(/rel="/g)).toHaveLength(1)
  })
})

/** Opens a cached read whose bodies have `length` characters, and counts the bodies that are built. */
function reader(limitBytes: number, length = 1) {
  const serve = openBodyCache(limitBytes)
  let built = 0
  const read = (key: string, etag: string, headers = {}) =>
    serve(new Request('http://localhost/tasks', { headers }), key, etag, async () => {
      built++
      return { etag, body: etag.repeat(length / etag.length + 1), link: null }
    })
  return { read, built: () => built }
}

test('caches a body under its ETag', async () => {
  const { read, built } = reader(10_000)
  for (const etag of ['"1"', '"1"', '"2"', '"2"', '"1"']) {
    const answer = await read('/tasks', etag)
    expect([answer.headers.get('etag'), await answer.text()]).toEqual([etag, etag])
  }
  expect(built()).toBe(3)
  await read('/projects', '"1"')
  expect(built()).toBe(4)
})

test('responds with 304 without building the body if the client has the current body', async () => {
  const { read, built } = reader(10_000)
  const answer = await read('/tasks', '"1"', { 'if-none-match': '"0", W/"1"' })
  expect([answer.status, answer.headers.get('etag'), await answer.text()]).toEqual([304, '"1"', ''])
  expect(built()).toBe(0)
})

test('limits the bytes of cached bodies, and evicts the least recently used body first', async () => {
  const { read, built } = reader(10_000, 1_000)
  for (const key of ['a', 'b', 'c', 'd', 'a', 'e']) await read(key, '"1"')
  expect(built()).toBe(5)
  for (const key of ['a', 'c', 'd', 'e']) await read(key, '"1"')
  expect(built()).toBe(5)
  await read('b', '"1"')
  expect(built()).toBe(6)
})

test('counts only the newer body after a replacement, and does not cache a body that is too large', async () => {
  const { read, built } = reader(10_000, 1_500)
  await read('small', '"1"')
  for (let version = 0; version < 100; version++) await read('again', `"${version}"`)
  await read('small', '"1"')
  expect(built()).toBe(101)
  const large = reader(10_000, 10_000)
  for (let i = 0; i < 2; i++) await large.read('large', '"1"')
  expect(large.built()).toBe(2)
})
