import fc from 'fast-check'
import { parseInstant } from '../../src/schema/text.ts'
import { cases } from '../kit.ts'

const read: Record<string, string> = {
  '2030-02-01': '2030-02-01T00:00:00.000Z',
  '2030-02-01T10:20Z': '2030-02-01T10:20:00.000Z',
  '2030-02-01T10:20:30Z': '2030-02-01T10:20:30.000Z',
  '2030-02-01t10:20:30z': '2030-02-01T10:20:30.000Z',
  '2030-02-01 10:20:30Z': '2030-02-01T10:20:30.000Z',
  '2030-02-01T10:20:30.5Z': '2030-02-01T10:20:30.500Z',
  '2030-02-01T10:20:30.123456789Z': '2030-02-01T10:20:30.123Z',
  '2030-02-01T10:20:30.9999Z': '2030-02-01T10:20:30.999Z',
  '2030-02-01T01:00:00+02:00': '2030-01-31T23:00:00.000Z',
  '2030-02-01T01:00:00+0200': '2030-01-31T23:00:00.000Z',
  '2030-12-31T23:30:00-00:45': '2031-01-01T00:15:00.000Z',
  '2030-02-01T10:20:30+05:30': '2030-02-01T04:50:30.000Z',
  '2028-02-29': '2028-02-29T00:00:00.000Z',
  '2000-02-29': '2000-02-29T00:00:00.000Z',
  '0004-02-29': '0004-02-29T00:00:00.000Z',
  '0050-06-07': '0050-06-07T00:00:00.000Z',
  '0001-01-01': '0001-01-01T00:00:00.000Z',
  '9999-12-31T23:59:59.999Z': '9999-12-31T23:59:59.999Z',
}

const refused = `
  2027-02-29 1900-02-29 2030-02-30 2030-04-31 2030-00-01 2030-13-01 2030-01-00 2030-01-32
  2030-01-01T25:00Z 2030-01-01T10:60Z 2030-01-01T10:00:60Z 2030-01-01T10:00 2030-01-01T10:00:00 2030-01-01T10Z
  2030-01-01T10:00:00+2 2030-01-01T10:00:00+24:00 2030-01-01T10:00:00+10:60 2030-01-01T10:00:00.Z
  2030-01-01T10:00:00.1234567890Z 2030-1-1 30-01-01 2030/01/01 01.02.2030 20300101 2030-W01-1 2030-001
  +002030-01-01 -000001-01-01 0000-01-01 0000-02-29 0001-01-01T00:00:00+00:01 9999-12-31T23:59:59-00:01
  10000-01-01 now tomorrow 1893456000 NaN null ٢٠٣٠-٠١-٠١`
  .trim()
  .split(/\s+/)

describe('parseInstant', () => {
  for (const [text, instant] of Object.entries(read))
    test(`accepts ${text}`, () => expect(parseInstant(text)).toBe(instant))

  for (const text of [
    ...refused,
    '',
    ' 2030-01-01',
    '2030-01-01 ',
    '2030-01-01\n',
    '2030-01-01T10:00:00 Z',
  ]) {
    test(`rejects ${JSON.stringify(text)}`, () => expect(parseInstant(text)).toBeNull())
  }

  const min = new Date('0001-01-02T00:00:00Z')
  const max = new Date('9999-12-30T23:59:59.999Z')
  const dates = fc.date({ min, max, noInvalidDate: true })

  test('returns an instant in ISO form unchanged', () => {
    const property = fc.property(dates, (date) => {
      const instant = parseInstant(date.toISOString())
      expect(instant).toBe(date.toISOString())
      expect(parseInstant(instant ?? '')).toBe(instant)
    })
    fc.assert(property, { numRuns: cases(500) })
  })

  test('converts a time with an offset to UTC', () => {
    const property = fc.property(dates, fc.integer({ min: -840, max: 840 }), (date, minutes) => {
      const local = new Date(date.getTime() + minutes * 60_000).toISOString().slice(0, -1)
      const [hour, minute] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60]
      const two = (n: number) => String(n).padStart(2, '0')
      const offset = `${minutes < 0 ? '-' : '+'}${two(hour)}:${two(minute)}`
      expect(parseInstant(local + offset)).toBe(date.toISOString())
    })
    fc.assert(property, { numRuns: cases(500) })
  })

  test('returns null or an ISO text in UTC with milliseconds for every input', () => {
    const digits = fc.stringMatching(
      /^\d{4}-[01]\d-[0-3]\d(T[0-2]\d:[0-6]\d(:[0-6]\d)?(Z|[+-]\d{2}:\d{2}))?$/,
    )
    const property = fc.property(fc.oneof(fc.string({ unit: 'binary' }), digits), (text) => {
      const instant = parseInstant(text)
      if (instant !== null) expect(instant).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    })
    fc.assert(property, { numRuns: cases(500) })
  })
})
