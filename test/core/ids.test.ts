import { afterEach, beforeEach, expect, setSystemTime, spyOn, test } from 'bun:test'
import { newId } from '../kit.ts'
import { Clock, isAhead, isCreatedAfter, nowMs, setClock, tailOf } from '../../src/ids.ts'
import { isId, nilId } from '../../src/id-format.ts'

const many = 50_000
const hour = 3_600_000
const clockAfter = (...ids: string[]) => new Clock(ids.toSorted().at(-1)!)
const setAhead = (ms: number) => setClock(Date.now() + ms, performance.now(), performance.now())
/** Many ids in one millisecond run ahead of the clock: 4,096 ids by one millisecond. */
const maxIdsAheadMs = 100

// A pause of the process between two reads of the clocks would look like an error of the clock.
let clocks: { mockRestore(): void }[]
beforeEach(() => {
  const [time, monotonic] = [Date.now(), performance.now()]
  clocks = [spyOn(Date, 'now').mockReturnValue(time), spyOn(performance, 'now').mockReturnValue(monotonic)]
  setAhead(0)
})
afterEach(() => {
  for (const clock of clocks) clock.mockRestore()
  setAhead(0)
})

const timeOf = (id: string) => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)

test('an id is a UUID of version 7 in canonical form', () => {
  for (let i = 0; i < 1_000; i++) {
    const id = newId()
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(isId(id)).toBe(true)
  }
})

test('an id begins with the millisecond of its creation', () => {
  const before = Date.now()
  const time = timeOf(newId())
  expect(time).toBeGreaterThanOrEqual(before - 1)
  expect(time).toBeLessThanOrEqual(Date.now() + maxIdsAheadMs)
})

test('ids are unique and sort in the order of their creation', () => {
  const ids = Array.from({ length: many }, newId)
  expect(ids.toSorted()).toEqual(ids)
  expect(new Set(ids).size).toBe(many)
  expect(timeOf(ids.at(-1)!)).toBeLessThanOrEqual(Date.now() + maxIdsAheadMs)
})

test('ids stay sorted if the clock is set back a little', () => {
  const ids = Array.from({ length: 100 }, newId)
  setAhead(-1_000)
  ids.push(...Array.from({ length: 100 }, newId))
  expect(ids.toSorted()).toEqual(ids)
  expect(new Set(ids).size).toBe(ids.length)
})

test("ids and times follow the database's clock, forward and back", () => {
  for (const ahead of [hour, -hour, 0]) {
    setAhead(ahead)
    const { now } = clockAfter(nilId)
    for (const ms of [nowMs(), timeOf(newId()), Date.parse(now)])
      expect(Math.abs(ms - Date.now() - ahead)).toBeLessThanOrEqual(maxIdsAheadMs)
  }
})

test("ids and times stay correct if the machine's clock is set while the process runs", () => {
  const now = Date.now()
  try {
    setSystemTime(now + 365 * 24 * hour)
    for (const ms of [nowMs(), timeOf(newId())]) expect(Math.abs(ms - now)).toBeLessThan(hour)
  } finally {
    setSystemTime()
  }
})

test('if the database answers slowly, the clock is corrected only by the part of the difference that is certain', () => {
  const now = performance.now()
  setClock(Date.now() - 500, now - 1_000, now)
  expect(Math.abs(nowMs() - Date.now())).toBeLessThanOrEqual(maxIdsAheadMs)
  setClock(Date.now() - 5_000, now - 1_000, now)
  expect(Math.abs(nowMs() - Date.now() + 4_000)).toBeLessThanOrEqual(maxIdsAheadMs)
})

test('an id is ahead if its time is more than five seconds in the future', () => {
  const own = newId()
  expect([-hour, 0, 4_000, 6_000, hour].map((ms) => isAhead(idOf(Date.now() + ms)))).toEqual([
    ...[false, false, false],
    ...[true, true],
  ])
  expect(isAhead(own)).toBe(false)
  setAhead(hour)
  const far = newId()
  setAhead(0)
  expect(isAhead(far)).toBe(true)
})

test('an id counts as created after an instant if its time is more than ten seconds later, and the id is not ahead', () => {
  const longAgo = performance.now() - 20_000
  expect(
    [-30_000, -11_000, -9_000, 0, 6_000].map((ms) => isCreatedAfter(idOf(Date.now() + ms), longAgo)),
  ).toEqual([...[false, false, true], ...[true, false]])
})

const idOf = (ms: number, count = '000') => {
  const time = ms.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${count}-bfff-ffffffffffff`
}

test('new ids are larger than the latest id, even if the latest id is in the future, and times stay correct', () => {
  for (const ahead of [0, 1, hour - 1_000, 50 * 365 * 24 * 3_600_000]) {
    const last = idOf(Date.now() + ahead, 'ffe')
    const clock = clockAfter(newId(), last, nilId)
    const ids = Array.from({ length: many }, () => clock.newId())
    expect([last, ...ids].toSorted()).toEqual([last, ...ids])
    expect(ids.every(isId)).toBe(true)
    const isBelieved = ahead < hour
    if (isBelieved) expect(Date.parse(clock.now)).toBeGreaterThanOrEqual(timeOf(last))
    else expect(Math.abs(Date.parse(clock.now) - Date.now())).toBeLessThan(hour)
    expect(timeOf(ids.at(-1)!)).toBeLessThanOrEqual(Math.max(timeOf(last), Date.now()) + maxIdsAheadMs)
  }
})

test('an id in the future does not affect other clocks', () => {
  clockAfter(idOf(Date.now() + 3_600_000)).newId()
  expect(timeOf(newId())).toBeLessThanOrEqual(Date.now() + maxIdsAheadMs)
  expect(Math.abs(Date.parse(clockAfter(nilId).now) - Date.now())).toBeLessThanOrEqual(maxIdsAheadMs)
})

test("events sort after their command, even if the command's id is in the future", () => {
  const commandId = idOf(Date.now() + 3_600_000)
  const clock = clockAfter(nilId)
  const [first, second] = [clock.firstIdOf(commandId), clock.newId()]
  expect(tailOf(first)).toBe(tailOf(commandId))
  expect([first, commandId, second].sort()).toEqual([commandId, first, second])
})

test('a clock never exceeds the valid range of dates', () => {
  const clock = clockAfter('ffffffff-ffff-7fff-bfff-ffffffffffff')
  expect(clock.now).toMatch(/^\d{4}-/)
  expect(isId(clock.newId())).toBe(true)
})

test('all digits of an id after its time are random', () => {
  const tails = Array.from({ length: many }, () => newId().slice(19))
  expect(new Set(tails).size).toBe(many)
  const variants = new Set(tails.map((tail) => tail[0]))
  expect([...variants].sort().join('')).toBe('89ab')
})

test('accepts only the canonical form of an id', () => {
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
