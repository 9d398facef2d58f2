import { afterEach, beforeEach, expect, setSystemTime, spyOn, test } from 'bun:test'
import fc from 'fast-check'
import { cases, newId, nilId, readYaml, upTo } from '../kit.ts'
import { Clock, isAhead, isCreatedAfter, nowMs, setClock, tailOf } from '../../src/ids.ts'
import { isId } from '../../src/id-format.ts'
import { parseInstant } from '../../src/schema/input.ts'

const many = 20_000
const hour = 3_600_000
const year = 365 * 24 * hour
const clockAfter = (...ids: string[]) => new Clock(ids.toSorted().at(-1)!)
const setAhead = (ms: number) => setClock(Date.now() + ms, performance.now(), performance.now())
/** Many ids in one millisecond run ahead of the clock: 4,096 ids by one millisecond. */
const maxIdsAheadMs = 100
const timeOf = (id: string) => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)
const idOf = (ms: number, count = '000') => {
  const time = ms.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${count}-bfff-ffffffffffff`
}
const expectNear = (ms: number, expected: number, tolerance = maxIdsAheadMs) =>
  expect(Math.abs(ms - expected)).toBeLessThanOrEqual(tolerance)

describe('ids', () => {
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

  test('ids are random UUIDs of version 7 that sort in the order of their creation, also if the clock is set back', () => {
    const ids = upTo(many).map(newId)
    setAhead(-1_000)
    ids.push(...upTo(100).map(newId))
    expect(ids.toSorted()).toEqual(ids)
    for (const id of ids.slice(0, 1_000))
      expect([id, isId(id)]).toEqual([
        expect.stringMatching(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/),
        true,
      ])
    for (const id of ids) expectNear(timeOf(id), Date.now())
    const tails = new Set(ids.map((id) => id.slice(19)))
    expect(tails.size).toBe(ids.length)
    expect([...new Set([...tails].map((tail) => tail[0]))].sort().join('')).toBe('89ab')
  })

  test("ids and times follow the database's clock, forward and back, and not the machine's clock", () => {
    for (const ahead of [hour, -hour, 0]) {
      setAhead(ahead)
      for (const ms of [nowMs(), timeOf(newId()), Date.parse(clockAfter(nilId).now)])
        expectNear(ms, Date.now() + ahead)
    }
    const now = Date.now()
    try {
      setSystemTime(now + year)
      for (const ms of [nowMs(), timeOf(newId())]) expectNear(ms, now, hour)
    } finally {
      setSystemTime()
    }
  })

  test('if the database answers slowly, the clock is corrected only by the part of the difference that is certain', () => {
    const now = performance.now()
    setClock(Date.now() - 500, now - 1_000, now)
    expectNear(nowMs(), Date.now())
    setClock(Date.now() - 5_000, now - 1_000, now)
    expectNear(nowMs(), Date.now() - 4_000)
  })

  test('an id is ahead if its time is more than five seconds in the future', () => {
    const own = newId()
    const isAheadBy = (ms: number) => isAhead(idOf(Date.now() + ms))
    expect([-hour, 0, 4_000, 6_000, hour].map(isAheadBy)).toEqual([false, false, false, true, true])
    expect(isAhead(own)).toBe(false)
    setAhead(hour)
    const far = newId()
    setAhead(0)
    expect(isAhead(far)).toBe(true)
  })

  test('an id counts as created after an instant if its time is more than ten seconds later, and the id is not ahead', () => {
    const isCreated = (ms: number) => isCreatedAfter(idOf(Date.now() + ms), performance.now() - 20_000)
    expect([-30_000, -11_000, -9_000, 0, 6_000].map(isCreated)).toEqual([false, false, true, true, false])
  })

  test('new ids are larger than the latest id of a log, even if that is in the future, and times stay correct', () => {
    for (const ahead of [0, 1, hour - 1_000, 50 * year]) {
      const last = idOf(Date.now() + ahead, 'ffe')
      const clock = clockAfter(newId(), last, nilId)
      const ids = upTo(many).map(() => clock.newId())
      expect([last, ...ids].toSorted()).toEqual([last, ...ids])
      expect(ids.every(isId)).toBe(true)
      if (ahead < hour) expect(Date.parse(clock.now)).toBeGreaterThanOrEqual(timeOf(last))
      else expectNear(Date.parse(clock.now), Date.now(), hour)
      expectNear(timeOf(ids.at(-1)!), Math.max(timeOf(last), Date.now()))
    }
    // Other clocks are not affected.
    expectNear(timeOf(newId()), Date.now())
    expectNear(Date.parse(clockAfter(nilId).now), Date.now())
    const latest = clockAfter('ffffffff-ffff-7fff-bfff-ffffffffffff')
    expect([latest.now, isId(latest.newId())]).toEqual([expect.stringMatching(/^\d{4}-/), true])
  })

  test("events sort after their command, even if the command's id is in the future", () => {
    const commandId = idOf(Date.now() + hour)
    const clock = clockAfter(nilId)
    const [first, second] = [clock.firstIdOf(commandId), clock.newId()]
    expect(tailOf(first)).toBe(tailOf(commandId))
    expect([first, commandId, second].sort()).toEqual([commandId, first, second])
  })

  test('accepts only the canonical form of an id', () => {
    const id = newId()
    const others = ['', 'me', id.toUpperCase(), id.replaceAll('-', ''), `{${id}}`]
    others.push(` ${id}`, `${id}\n`, `${id}0`)
    expect([...others, nilId, id].filter(isId)).toEqual([nilId, id])
  })
})

describe('parseInstant', () => {
  const { accepted, rejected } = readYaml<{ accepted: Record<string, string>; rejected: string[][] }>(
    'test/unit/instants.yaml',
  )

  test.each(Object.entries(accepted))('accepts %s', (text, instant) =>
    expect(parseInstant(text)).toBe(instant),
  )

  test('rejects other notations, and dates and times that do not exist', () => {
    expect(rejected.flat().filter((text) => parseInstant(text) !== null)).toEqual([])
  })

  const [min, max] = [new Date('0001-01-02T00:00:00Z'), new Date('9999-12-30T23:59:59.999Z')]
  const dates = fc.date({ min, max, noInvalidDate: true })

  test('returns an instant in ISO form unchanged, and converts a time with an offset to UTC', () => {
    const property = fc.property(dates, fc.integer({ min: -840, max: 840 }), (date, minutes) => {
      const instant = date.toISOString()
      expect(parseInstant(instant)).toBe(instant)
      const local = new Date(date.getTime() + minutes * 60_000).toISOString().slice(0, -1)
      const parts = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60]
      const offset = parts.map((n) => String(n).padStart(2, '0')).join(':')
      expect(parseInstant(local + (minutes < 0 ? '-' : '+') + offset)).toBe(instant)
    })
    fc.assert(property, { numRuns: cases(500) })
  })
})
