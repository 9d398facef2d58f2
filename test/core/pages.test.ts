import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { newId } from '../../src/ids.ts'
import { idPage, isIdPart, nextLink, readCursor, writeCursor } from '../../src/reads/pages.ts'
import { cases } from '../support/depth.ts'
import { openServe } from '../../src/responses/reply.ts'

const notOurs = 'cursor must be one that this list gave in its Link header'
const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

describe('a cursor', () => {
  const id = newId()

  test('leads back to the key it was made of', () => {
    expect(readCursor(writeCursor([id]), [isIdPart])).toEqual([id])
    expect(idPage({ cursor: writeCursor([id]), limit: '7' }, 50, 200)).toEqual({ cursor: id, limit: 7 })
    expect(idPage({}, 50, 200)).toEqual({ cursor: null, limit: 50 })
  })

  test('that is garbage is refused, whatever it is', () => {
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

describe('the way to the next page', () => {
  test('is the same request with the cursor set', () => {
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

  test('cannot be broken out of by what the request says', () => {
    const link = nextLink('http://localhost/tasks?assigneeId=%3E%3B%20rel%3D%22prev%22', 'cursor', 'c')
    expect(link.match(/[<>]/g)).toEqual(['<', '>'])
    expect(link.match(/rel="/g)).toHaveLength(1)
  })
})

/** A way to read whose bodies take `length` characters, and how often it had to build one. */
function reader(limitBytes: number, length = 1) {
  const serve = openServe(limitBytes)
  let built = 0
  const read = (key: string, etag: string, headers = {}) =>
    serve(new Request('http://localhost/tasks', { headers }), key, etag, async () => {
      built++
      return { etag, body: etag.repeat(length / etag.length + 1), link: null }
    })
  return { read, built: () => built }
}

test('a body is kept for its ETag and for no other', async () => {
  const { read, built } = reader(10_000)
  for (const etag of ['"1"', '"1"', '"2"', '"2"', '"1"']) {
    const answer = await read('/tasks', etag)
    expect([answer.headers.get('etag'), await answer.text()]).toEqual([etag, etag])
  }
  expect(built()).toBe(3)
  await read('/projects', '"1"')
  expect(built()).toBe(4)
})

test('who has the body already gets none, and none is built', async () => {
  const { read, built } = reader(10_000)
  const answer = await read('/tasks', '"1"', { 'if-none-match': '"0", W/"1"' })
  expect([answer.status, answer.headers.get('etag'), await answer.text()]).toEqual([304, '"1"', ''])
  expect(built()).toBe(0)
})

test('bodies are kept up to a number of bytes, and the least recently used go first', async () => {
  const { read, built } = reader(10_000, 1_000)
  for (const key of ['a', 'b', 'c', 'd', 'a', 'e']) await read(key, '"1"')
  expect(built()).toBe(5)
  for (const key of ['a', 'c', 'd', 'e']) await read(key, '"1"')
  expect(built()).toBe(5)
  await read('b', '"1"')
  expect(built()).toBe(6)
})

test('setting a body again does not count it twice, and one too large is not kept', async () => {
  const { read, built } = reader(10_000, 1_500)
  await read('small', '"1"')
  for (let version = 0; version < 100; version++) await read('again', `"${version}"`)
  await read('small', '"1"')
  expect(built()).toBe(101)
  const large = reader(10_000, 10_000)
  for (let i = 0; i < 2; i++) await large.read('large', '"1"')
  expect(large.built()).toBe(2)
})
