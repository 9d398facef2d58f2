import { expect, test } from 'bun:test'
import { openServe } from '../../src/reads/cached-bodies.ts'

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
