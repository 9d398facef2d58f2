import { expect, test } from 'bun:test'
import { BodyCache } from '../../src/core/body-cache.ts'
import { BoundedMap } from '../../src/core/bounded-map.ts'

test('a bounded map forgets what was used longest ago', () => {
  const map = new BoundedMap<string, number>(3)
  for (const [i, key] of ['a', 'b', 'c'].entries()) map.set(key, i)
  expect(map.get('a')).toBe(0)
  map.set('d', 3)
  expect(['a', 'b', 'c', 'd'].map((key) => map.get(key))).toEqual([0, undefined, 2, 3])
  expect(map.size).toBe(3)
})

test('a bounded map counts a key once, and setting it again is using it', () => {
  const map = new BoundedMap<string, number>(2)
  map.set('a', 1)
  map.set('b', 2)
  map.set('a', 3)
  expect(map.size).toBe(2)
  map.set('c', 4)
  expect(['a', 'b', 'c'].map((key) => map.get(key))).toEqual([3, undefined, 4])
})

test('a bounded map forgets what it is told to', () => {
  const map = new BoundedMap<string, number>(2)
  map.set('a', 1)
  map.delete('a')
  map.delete('never there')
  expect([map.get('a'), map.size]).toEqual([undefined, 0])
})

test('a falsy value is a value', () => {
  const map = new BoundedMap<string, number | string | null>(3)
  for (const value of [0, '', null]) {
    map.set('key', value)
    expect(map.get('key')).toBe(value)
  }
})

const body = (etag: string, length = 1) => ({ etag, body: 'x'.repeat(length), link: null })

test('a body is kept for its ETag and for no other', () => {
  const bodies = new BodyCache(10_000)
  bodies.set('/tasks', body('"1"'))
  expect(bodies.get('/tasks', '"1"')).toEqual(body('"1"'))
  expect(bodies.get('/tasks', '"2"')).toBeUndefined()
  expect(bodies.get('/projects', '"1"')).toBeUndefined()
  bodies.set('/tasks', body('"2"'))
  expect(bodies.get('/tasks', '"1"')).toBeUndefined()
  expect(bodies.size).toBe(1)
})

test('bodies are kept up to a number of bytes, and the least recently used go first', () => {
  const bodies = new BodyCache(10_000)
  for (const key of ['a', 'b', 'c', 'd']) bodies.set(key, body('"1"', 1_000))
  expect(bodies.get('a', '"1"')).toBeDefined()
  bodies.set('e', body('"1"', 1_000))
  expect(['a', 'b', 'c', 'd', 'e'].map((key) => !!bodies.get(key, '"1"'))).toEqual([
    true,
    false,
    true,
    true,
    true,
  ])
})

test('setting a body again does not count it twice, and one too large is not kept', () => {
  const bodies = new BodyCache(10_000)
  bodies.set('small', body('"1"'))
  for (let version = 0; version < 100; version++) bodies.set('again', body(`"${version}"`, 3_000))
  expect(bodies.size).toBe(2)
  bodies.set('large', body('"1"', 10_000))
  expect(bodies.get('large', '"1"')).toBeUndefined()
})
