import { expect, spyOn, test } from 'bun:test'
import { isId, newId } from '../../src/core/ids.ts'

const many = 50_000
const timeOf = (id: string) => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)

test('an id is a UUID of version 7, in the form that this service gives out', () => {
  for (let i = 0; i < 1_000; i++) {
    const id = newId()
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(isId(id)).toBe(true)
  }
})

test('an id begins with the millisecond it was made in', () => {
  const before = Date.now()
  const time = timeOf(newId())
  // Date.now() and performance.now() are two clocks of one machine, a little apart.
  expect(time).toBeGreaterThanOrEqual(before - 50)
  expect(time).toBeLessThanOrEqual(Date.now() + 50)
})

test('ids made in order sort in order, however many in a millisecond, and none comes twice', () => {
  const ids = Array.from({ length: many }, newId)
  expect(ids.toSorted()).toEqual(ids)
  expect(new Set(ids).size).toBe(many)
  // They do not run ahead of the clock by more than their making took.
  expect(timeOf(ids.at(-1)!)).toBeLessThanOrEqual(Date.now() + 50)
})

test('ids sort also while the clock stands still, and when it goes back', () => {
  const now = performance.now()
  const clock = spyOn(performance, 'now').mockReturnValue(now)
  try {
    const ids = Array.from({ length: 100 }, newId)
    clock.mockReturnValue(now - 60_000)
    ids.push(...Array.from({ length: 100 }, newId))
    expect(ids.toSorted()).toEqual(ids)
    expect(new Set(ids).size).toBe(ids.length)
  } finally {
    clock.mockRestore()
  }
})

test('what follows the time is random', () => {
  const tails = Array.from({ length: many }, () => newId().slice(19))
  expect(new Set(tails).size).toBe(many)
  const variants = new Set(tails.map((tail) => tail[0]))
  expect([...variants].sort().join('')).toBe('89ab')
})

test('only the canonical form is an id', () => {
  const id = newId()
  const others = [
    '',
    'me',
    id.toUpperCase(),
    id.replaceAll('-', ''),
    `{${id}}`,
    ` ${id}`,
    `${id}\n`,
    `${id}0`,
  ]
  expect(others.filter(isId)).toEqual([])
  expect(isId('00000000-0000-0000-0000-000000000000')).toBe(true)
})
