import fc from 'fast-check'
import { DateTime } from 'luxon'
import { dateFormatOf, Dates } from '../../../modules/imports/readers/csv/dates.ts'
import { readers } from '../../../modules/imports/sources.ts'
import { cases } from '../../kit.ts'
import { reading, tasksOf } from './reading.ts'

test.each(
  Object.entries({
    '2026-11-20': '2026-11-20|2026/11/20|11/20/2026|20.11.2026|20 Nov 2026|November 20th, 2026|Nov 20 2026',
    '2026-11-20T10:00:00.000Z': `2026-11-20T10:00:00+0000|2026-11-20 10:00:00|2026-11-20 15:30 +05:30|20-Nov-2026 10:00|
      Fri, 20 Nov 2026 09:00:00 -0100|Fri Nov 20 2026 11:00:00 GMT+0100 (GMT+01:00)|November 20, 2026 10:00 AM`,
    '2026-11-20T10:00:00.123Z': '2026-11-20T10:00:00.123Z',
    '2026-11-21T16:05:00.000Z':
      '21/Nov/26 4:05 PM|21.11.2026 16:05|21. 11. 2026 16.05|21/11/2026 16h05|21.11.2026, 16:05 Uhr|21 nov. 2026 à 16:05|21 de noviembre de 2026 16:05',
    '2026-11-21T00:05:00.000Z': '21/Nov/26 12:05 AM',
    '2025-12-04': '04/dic/25|4 déc. 2025|4. Dezember 2025|4 grudnia 2025|4 dezembro 2025|4 dicembre 2025',
    '2026-11-19':
      '2026年11月19日|2026년 11월 19일|19 ноября 2026|19 Kasım 2026|Do., 19. Nov. 2026|jeu. 19 nov. 2026|2026. 11. 19.|19\u00a0Nov\u00a02026',
    '2026-11-19T10:05:00.000Z':
      '20261119T100500Z|Nov\u00a019,\u00a02026, 10:05\u202fAM|19 november 2026 om 10:05|19. nov. 2026 kl 10.05',
    '2026-12-01': '1er décembre 2026|1º de dezembro de 2026',
    '2026-09-01': '1 Sept 2026|1. září 2026|1 settembre 2026|1/wrz/26|1 set 2026',
    '2026-03-03': '3. März 2026|3. März 2026|3 mars 2026|3 mrt 2026|3 marca 2026',
    '2026-11-20T14:00:00.000Z': '20 Nov 2026 2 PM|Nov-20-2026 2pm',
    '2026-02-07': '7-fev-26|7 févr. 2026|7 lut 2026',
    '2026-04-03': '3.4.2026|3/4/2026|3-4-26',
    '1999-11-20': '20/11/99',
    '2026-10-06T12:00:00.000Z': '1791288000000|1791288000',
  }),
)('reads %s', (expected, texts) => {
  const dates = new Dates({ dateFormat: 'DD/MM/YYYY' })
  for (const text of texts.split('|').map((one) => one.trim()))
    expect([text, dates.read(text)]).toEqual([text, expected])
})

test.each(
  `|tomorrow|every monday at 9am|3/4/2026|2026-02-30|31/11/2026|2026-11-20 25:00|13:00|13/Nov/26 13:05 PM|20 Foo 2026|3 jui 2026|
    3 ma 2026|1/2|20261120|12/2026|${'x'.repeat(100_000)}|${'9'.repeat(80)}`
    .split('|')
    .map((text) => text.trim()),
)('does not read %p', (text) => {
  expect(new Dates({}).read(text)).toBeUndefined()
})

test.each([
  ['MM/DD/YYYY', '03/04/2026', '2026-03-04'],
  ['DD/MM/YYYY', '03/04/26 10:00', '2026-04-03T10:00:00.000Z'],
  ['dd.MM.yyyy HH:mm', '03.04.2026 10:00', '2026-04-03T10:00:00.000Z'],
  ['YYYY-DD-MM', '2026-03-04', '2026-04-03'],
  ['YY/MM/DD', '26/11/20', '2026-11-20'],
  ["yyyyMMdd'T'HHmm", '20261120T1005', '2026-11-20T10:05:00.000Z'],
  ['EEEE, d. MMMM yyyy h:mm a', 'Friday, 20. November 2026 1:05 PM', '2026-11-20T13:05:00.000Z'],
  ["LLL d yyyy 'at' HH:mm:ss.SSS ZZ", 'Nov 20 2026 at 10:05:07.123 +01:00', '2026-11-20T09:05:07.123Z'],
  ['YYYY年M月D日', '2026年11月20日', '2026-11-20'],
  ['MM.DD.YYYY', '3.4.2026', '2026-03-04'],
  ['MM.DD.YYYY', '13.4.2026', '2026-04-13'],
])('with the format %s, reads %j as %j', (dateFormat, text, expected) => {
  expect(new Dates({ dateFormat }).read(text)).toBe(expected)
})

test('a format has a day, month and year, and each letter in one place', () => {
  const repeated = [`yyyyMMdd${'So'.repeat(20)}X`, `yyyyMMdd${'Hms'.repeat(14)}`]
  for (const format of ['HH:mm', 'DD/MM/YYYYTHH:mm', "DD/MM/YYYY D' '", ...repeated])
    expect(dateFormatOf(format)).toBeUndefined()
})

test('reads times without an offset in the time zone, also near a change of the offset', () => {
  const zones = 'Europe/Berlin America/St_Johns Australia/Lord_Howe Pacific/Kiritimati Pacific/Apia'.split(
    ' ',
  )
  const changes = '2011-12-30 2026-03-08 2026-03-29 2026-04-05 2026-10-04 2026-10-25 2026-11-01'.split(' ')
  const days = fc.integer({ min: Date.UTC(2005, 0), max: Date.UTC(2030, 0) }).map((ms) => ms - (ms % 60_000))
  const day = fc.oneof(days, fc.constantFrom(...changes.map(Date.parse)))
  const time = fc.record({
    zone: fc.constantFrom(...zones),
    ms: fc.tuple(day, fc.integer({ min: -4_000, max: 4_000 })).map(([at, n]) => at + n * 60_000),
  })
  const check = fc.property(time, ({ zone, ms }) => {
    const text = new Date(ms).toISOString().slice(0, 16)
    const shown = (read: string) => DateTime.fromISO(read, { zone }).toFormat("yyyy-MM-dd'T'HH:mm")
    // The clock skips some times. A time that occurs twice may be read as either of both.
    if (shown(text) === text) expect(shown(new Dates({ timeZone: zone }).read(text)!)).toBe(text)
  })
  fc.assert(check, { numRuns: cases(500) })
})

test.each<[rows: string, format: string | undefined, expected: string, proposed: string]>([
  ['3/4/2026|21/4/2026', undefined, '2026-04-03|2026-04-21', 'DD/MM/YYYY'],
  ['3-4-2026|3-14-2026', undefined, '2026-03-04|2026-03-14', 'MM-DD-YYYY'],
  ['3/4/2026|5/5/2026', undefined, 'due: 3/4/2026|2026-05-05', ''],
  ['3/4/2026|21/4/2026|4/21/2026', undefined, 'due: 3/4/2026|2026-04-21|2026-04-21', ''],
  ['3/13/2026|3/4/2026', 'DD/MM/YYYY', '2026-03-13|2026-04-03', 'reported'],
  ['13/3/2026|3/4/2026', 'MM/DD/YYYY', '2026-03-13|2026-03-04', 'reported'],
  ['13/3/2026', 'DD/MM/YYYY', '2026-03-13', ''],
  ['26/11/20', 'YY/MM/DD', '2026-11-20', ''],
])(
  'finds the order of day and month in %s, with the format %p',
  async (rows, dateFormat, expected, proposed) => {
    const file = ['title,due', ...rows.split('|').map((text, n) => `${n},${text}`)].join('\n')
    const read = await reading(readers.csv, file, { mapping: { ...(dateFormat && { dateFormat }) } })
    expect(tasksOf(read).map((task) => task.dueDate ?? task.notes![0])).toEqual(expected.split('|'))
    expect(read.proposal.dateFormat ?? '').toBe(proposed.replace('reported', ''))
    const line = `The date "${rows.split('|')[0]}" does not have the order of day and month in mapping.dateFormat. Such dates were read in the only possible order`
    expect(read.messages).toEqual(proposed === 'reported' ? [line] : [])
  },
)

test('keeps the author and the text of a Jira comment with an ambiguous date, and reports the date', async () => {
  const file = 'Summary,Comment\na,1/5/26 10:00 AM;bob;Oil it; twice\nb,1/x/26;bob;Oil\n'
  const { items } = await reading(readers.jira, file)
  const messages = ['The date "1/5/26 10:00 AM" cannot be read: send mapping.dateFormat, such as DD/MM/YYYY']
  expect(items).toMatchObject([
    { notes: ['Comment of bob: 1/5/26 10:00 AM'], messages },
    { kind: 'comment', text: 'Oil it; twice', author: { name: 'bob' } },
    { title: 'b' },
    { kind: 'comment', text: '1/x/26;bob;Oil' },
  ])
  const given = await reading(readers.jira, file, { mapping: { dateFormat: 'MM/DD/YY' } })
  expect(given.items[1]).toMatchObject({ createdAt: '2026-01-05T10:00:00.000Z' })
})

test('proposes the time zone for times without an offset', async () => {
  const zoneOf = async (time: string, mapping = {}) =>
    (await reading(readers.csv, `title,due\na,${time}\n`, { mapping })).proposal.timeZone
  expect(await zoneOf('2026-11-20 10:00')).toBe('UTC')
  expect(await zoneOf('2026-11-20 10:00', { timeZone: 'Europe/Berlin' })).toBe('Europe/Berlin')
  expect(await zoneOf('2026-11-20T10:00Z')).toBeUndefined()
})
