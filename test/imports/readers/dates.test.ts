import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { DateTime } from 'luxon'
import { dateFormatOf, Dates } from '../../../modules/imports/readers/csv/dates.ts'
import { readCsv } from '../../../modules/imports/readers/csv-sources/csv.ts'
import { cases } from '../../support/depth.ts'
import { readers } from '../../../modules/imports/sources.ts'
import { reading, tasksOf } from './reading.ts'

test.each([
  ['2026-11-20', '2026-11-20'],
  ['2026-11-20T10:00:00.123Z', '2026-11-20T10:00:00.123Z'],
  ['2026-11-20T10:00:00+0000', '2026-11-20T10:00:00.000Z'],
  ['2026-11-20 10:00:00', '2026-11-20T10:00:00.000Z'],
  ['2026-11-20 10:00 +05:30', '2026-11-20T04:30:00.000Z'],
  ['2026/11/20', '2026-11-20'],
  ['Fri, 20 Nov 2026 10:00:00 -0100', '2026-11-20T11:00:00.000Z'],
  ['Fri Nov 20 2026 10:00:00 GMT+0100 (GMT+01:00)', '2026-11-20T09:00:00.000Z'],
  ['21/Nov/26 4:05 PM', '2026-11-21T16:05:00.000Z'],
  ['21/Nov/26 12:05 AM', '2026-11-21T00:05:00.000Z'],
  ['21-Nov-2026 16:05', '2026-11-21T16:05:00.000Z'],
  ['Oct 5 2026', '2026-10-05'],
  ['October 5th, 2026', '2026-10-05'],
  ['November 20, 2026 10:00 AM', '2026-11-20T10:00:00.000Z'],
  ['1 Sept 2026', '2026-09-01'],
  ['04/dic/25 10:57 AM', '2025-12-04T10:57:00.000Z'],
  ['20 de noviembre de 2025', '2025-11-20'],
  ['3. März 2026', '2026-03-03'],
  ['14 déc. 2026 16:05', '2026-12-14T16:05:00.000Z'],
  ['7-fev-26', '2026-02-07'],
  ['7/paź/26', '2026-10-07'],
  ['5 grudnia 2026', '2026-12-05'],
  ['20.11.2026 9:05', '2026-11-20T09:05:00.000Z'],
  ['3.4.2026', '2026-04-03'],
  ['11/20/2026', '2026-11-20'],
  ['20/11/99', '1999-11-20'],
  ['5/5/26', '2026-05-05'],
  ['1791288000000', '2026-10-06T12:00:00.000Z'],
])('reads %j as %j', (text, expected) => {
  expect(new Dates({}).read(text)).toBe(expected)
})

test.each([
  ...['', 'tomorrow', 'every monday at 9am', '3/4/2026', '2026-02-30', '31/11/2026', '2026-11-20 25:00'],
  ...[
    '13:00',
    '20 Foo 2026',
    '3 jui 2026',
    '3 ma 2026',
    '1/2',
    '20261120',
    '12/2026',
    'x'.repeat(100_000),
    '9'.repeat(80),
  ],
])('does not read %p', (text) => {
  expect(new Dates({}).read(text)).toBeUndefined()
})

test.each([
  ['DD/MM/YYYY', '03/04/2026', '2026-04-03'],
  ['MM/DD/YYYY', '03/04/2026', '2026-03-04'],
  ['DD/MM/YYYY', '03/04/26 10:00', '2026-04-03T10:00:00.000Z'],
  ['dd.MM.yyyy HH:mm', '03.04.2026 10:00', '2026-04-03T10:00:00.000Z'],
  ['YYYY-DD-MM', '2026-03-04', '2026-04-03'],
  ['YY/MM/DD', '26/11/20', '2026-11-20'],
  ["yyyyMMdd'T'HHmm", '20261120T1005', '2026-11-20T10:05:00.000Z'],
  ['EEEE, d. MMMM yyyy h:mm a', 'Friday, 20. November 2026 1:05 PM', '2026-11-20T13:05:00.000Z'],
  ["LLL d yyyy 'at' HH:mm:ss.SSS ZZ", 'Nov 20 2026 at 10:05:07.123 +01:00', '2026-11-20T09:05:07.123Z'],
  ['YYYY年M月D日', '2026年11月20日', '2026-11-20'],
  ['DD/MM/YYYY', '2026-11-20', '2026-11-20'],
  ['MM.DD.YYYY', '3.4.2026', '2026-03-04'],
  ['MM.DD.YYYY', '13.4.2026', '2026-04-13'],
])('with the format %s, reads %j as %j', (dateFormat, text, expected) => {
  expect(new Dates({ dateFormat }).read(text)).toBe(expected)
})

test.each([
  ...['HH:mm', 'DD/MM/YYYYTHH:mm', "DD/MM/YYYY D' '"],
  ...[`yyyyMMdd${'So'.repeat(20)}X`, `yyyyMMdd${'Hms'.repeat(14)}`],
])('does not accept the format %s', (format) => {
  expect(dateFormatOf(format)).toBeUndefined()
})

test('reads times without an offset in the time zone, also near a change of the offset', () => {
  const zones = [
    'Europe/Berlin',
    'America/St_Johns',
    'Australia/Lord_Howe',
    'Pacific/Kiritimati',
    'Pacific/Apia',
  ]
  const time = fc.record({
    zone: fc.constantFrom(...zones),
    ms: fc.integer({ min: Date.UTC(2005, 0), max: Date.UTC(2030, 0) }).map((ms) => ms - (ms % 60_000)),
  })
  const dates = new Map(zones.map((timeZone) => [timeZone, new Dates({ timeZone })]))
  fc.assert(
    fc.property(time, ({ zone, ms }) => {
      const text = new Date(ms).toISOString().slice(0, 16)
      const shown = (time: string) => DateTime.fromISO(time, { zone }).toFormat("yyyy-MM-dd'T'HH:mm")
      // The clock skips some times. A time that occurs twice may be read as either of both.
      if (shown(text) === text) expect(shown(dates.get(zone)!.read(text)!)).toBe(text)
    }),
    { numRuns: cases(500) },
  )
})

const dated = async (...due: string[]) => {
  const read = await reading(readCsv, ['title,due', ...due.map((text, i) => `${i},"${text}"`)].join('\n'))
  const days = tasksOf(read).map((task) => task.dueDate ?? task.notes?.[0] ?? '')
  return [days.join(' | '), read.proposal.dateFormat]
}

test('determines the order of day and month from all rows', async () => {
  expect(await dated('3/4/2026', '21/4/2026')).toEqual(['2026-04-03 | 2026-04-21', 'DD/MM/YYYY'])
  expect(await dated('3-4-2026', '3-14-2026')).toEqual(['2026-03-04 | 2026-03-14', 'MM-DD-YYYY'])
})

test('reports a date with another order than the given format, and reads it in its only possible order', async () => {
  const read = async (dateFormat: string, text: string) => {
    const { items, messages } = await reading(readCsv, `title,due\na,${text}\n`, { mapping: { dateFormat } })
    return [tasksOf({ items })[0]!.dueDate, ...messages]
  }
  const reported = (text: string) =>
    `The date "${text}" does not have the order of day and month in mapping.dateFormat. Such dates were read in the only possible order`
  expect(await read('DD/MM/YYYY', '3/13/2026')).toEqual(['2026-03-13', reported('3/13/2026')])
  expect(await read('MM/DD/YYYY', '13/3/2026')).toEqual(['2026-03-13', reported('13/3/2026')])
  expect(await read('DD/MM/YYYY', '13/3/2026')).toEqual(['2026-03-13'])
  expect(await read('MM/DD/YYYY', '3.4.2026')).toEqual(['2026-03-04'])
  expect(await read('YY/MM/DD', '26/11/20')).toEqual(['2026-11-20'])
})

test('keeps the author and the text of a Jira comment with an ambiguous date, and reports the date', async () => {
  const file = 'Summary,Comment\na,1/5/26 10:00 AM;bob;Oil it; twice\nb,1/x/26;bob;Oil\n'
  const { items } = await reading(readers.jira!, file)
  expect(items).toMatchObject([
    {
      notes: ['Comment of bob: 1/5/26 10:00 AM'],
      messages: ['The date "1/5/26 10:00 AM" cannot be read: send mapping.dateFormat, such as DD/MM/YYYY'],
    },
    { kind: 'comment', text: 'Oil it; twice', author: { name: 'bob' } },
    { title: 'b' },
    { kind: 'comment', text: '1/x/26;bob;Oil' },
  ])
  const mapping = { dateFormat: 'MM/DD/YY' }
  expect((await reading(readers.jira!, file, { mapping })).items[1]).toMatchObject({
    createdAt: '2026-01-05T10:00:00.000Z',
  })
})

test('adds ambiguous dates to the notes, and reports them', async () => {
  expect(await dated('3/4/2026', '5/5/2026')).toEqual(['due: 3/4/2026 | 2026-05-05', undefined])
  const mixed = await dated('3/4/2026', '21/4/2026', '4/21/2026')
  expect(mixed).toEqual(['due: 3/4/2026 | 2026-04-21 | 2026-04-21', undefined])
  const read = await reading(readCsv, 'title,due\na,3/4/2026\n')
  expect(tasksOf(read)[0]!.messages).toEqual([
    'The date "3/4/2026" cannot be read: send mapping.dateFormat, such as DD/MM/YYYY',
  ])
})

test('reads the end of a range of dates, and keeps its text', async () => {
  const read = await reading(
    readCsv,
    'title,due\na,"October 8, 2026 → October 10, 2026"\nb,October 8 → October 10\n',
  )
  expect(tasksOf(read)).toMatchObject([
    { dueDate: '2026-10-10', notes: ['due: October 8, 2026 → October 10, 2026'] },
    {
      notes: ['due: October 8 → October 10'],
      messages: ['The date "October 8 → October 10" cannot be read: it has no year'],
    },
  ])
  expect(tasksOf(read)[1]).not.toHaveProperty('dueDate')
})

test('proposes the time zone for times without an offset', async () => {
  const zoneOf = async (time: string, timeZone?: string) =>
    (await reading(readCsv, `title,due\na,${time}\n`, { mapping: { ...(timeZone && { timeZone }) } }))
      .proposal.timeZone
  expect(await zoneOf('2026-11-20 10:00')).toBe('UTC')
  expect(await zoneOf('2026-11-20 10:00', 'Europe/Berlin')).toBe('Europe/Berlin')
  expect(await zoneOf('2026-11-20T10:00Z')).toBeUndefined()
})
