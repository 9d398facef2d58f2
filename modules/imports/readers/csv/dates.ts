import { LRUCache } from 'lru-cache'
import { DateTime, Info } from 'luxon'
import { byWord, cut, withoutAccents } from '../../convert/texts.ts'
import words from '../../words.json' with { type: 'json' }

/** `day` for 21/11/2026, `month` for 11/21/2026. */
type First = 'day' | 'month'

/** The names of months alone, after a day, and abbreviated. */
const monthNames = (locale: string) => [
  ...[Info.months('long', { locale }), Info.monthsFormat('long', { locale })],
  Info.months('short', { locale }),
]
const minMonthCharacters = 3
/** The months, from 1, by their names and the starts of their names. 0 for an ambiguous start. */
const monthsByName = new Map<string, number>()
for (const names of 'en es de fr pt it nl pl cs da nb sv ro tr ru uk'.split(' ').flatMap(monthNames))
  for (const [index, given] of names.entries()) {
    const [name, month] = [withoutAccents(given).replace('.', ''), index + 1]
    for (let end = minMonthCharacters; end <= name.length; end++) {
      const start = name.slice(0, end)
      monthsByName.set(start, (monthsByName.get(start) ?? month) === month ? month : 0)
    }
  }

/** The time zones that an abbreviation means everywhere or usually. */
const zoneOfAbbreviation = byWord(words.zones)

const maxCharacters = 80
/** The usual names of time zones by their texts in files; '' for other texts. luxon stores each name that it gets until the process ends. */
const zoneNames = new LRUCache<string, string>({
  max: 1_000,
  memoMethod(text) {
    try {
      return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone
    } catch {
      return ''
    }
  },
})

/** Returns the name of the time zone that a text means; '' for another text. */
function zoneIn(text: string): string {
  const [, hours, minutes = '00'] = /^(?:GMT|UTC)?\s*([+-]\d{1,2}):?(\d{2})?$/i.exec(text) ?? []
  if (hours) return `UTC${hours}:${minutes}`
  return zoneOfAbbreviation(text) ?? zoneNames.memo(text.slice(0, maxCharacters))
}

const dayMs = 86_400_000
/** Offsets in ms by day and time zone, because luxon takes microseconds for each. */
const offsets = new LRUCache<string, number>({
  max: 20_000,
  memoMethod: (key) => offsetIn(key.replace(/^\S+ /, ''), Number.parseInt(key) * dayMs),
})
const offsetIn = (zone: string, time: number): number => Info.normalizeZone(zone).offset(time) * 60_000

/** Returns the instant in ms since 1970. @param local the same, as if the time were in UTC */
function instantOf(local: number, zone: string): number {
  const day = Math.floor(local / dayMs)
  const [before, after] = [offsets.memo(`${day - 1} ${zone}`), offsets.memo(`${day + 2} ${zone}`)]
  return local - (before === after ? before : offsetIn(zone, local - offsetIn(zone, local)))
}

const time =
  /(?:T|,?\s+(?:(?:at|um|om|kl|alle|à|às|a las|o)\s+)?)(\d{1,2})(?:[:h.](\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?|(?=\s*[ap]\.?\s?m))(?:\s*([ap])\.?\s?m\.?|\s*uhr)?\s*(Z\b|(?:GMT|UTC)?[+-]\d{1,2}(?::?\d{2})?|[A-Z]+\/[A-Z_/]+|[A-Z]{2,5})?(?:\s*(?:\(([^()]*(?:\([^()]*\)[^()]*)*)\)|\[[^\][]*\]))?$/i

/** Returns the time at the end of a text, from `index` on, in ms of the day. Its zone is undefined if the text has none, and '' if it is unknown. */
function clockIn(text: string) {
  const match = time.exec(text)
  if (!match) return undefined
  const [, hours, minutes = '0', seconds = '0', fraction = '', half, offset, inParentheses] = match
  const hour = half ? (Number(hours) % 12) + (half.toLowerCase() === 'p' ? 12 : 0) : Number(hours)
  const [minute, second] = [Number(minutes), Number(seconds)]
  if (hour > 23 || minute > 59 || second > 59 || (half && !/^0?[1-9]$|^1[0-2]$/.test(hours!)))
    return undefined
  const ms = ((hour * 60 + minute) * 60 + second) * 1_000 + Number(fraction.padEnd(3, '0').slice(0, 3))
  const zone = offset ?? inParentheses
  return { index: match.index, ms, zone: zone && zoneIn(zone.trim()) }
}

/** The forms of a date without a time, below a weekday. `one` and `two` are day and month in either order. */
const forms = [
  /(?<year>\d{4})([-/.]) ?(?<month>\d{1,2})\2 ?(?<day>\d{1,2})\.?/u,
  /(?<one>\d{1,2})(?<separator>[-/.]) ?(?<two>\d{1,2})\k<separator> ?(?<year>\d{2}|\d{4})\.?/u,
  /(?<day>\d{1,2})(?:st|nd|rd|th|er|º)?[ /.-]+(?:de )?(?<name>\p{L}{3,10})\.?,?[ /.-]+(?:de )?(?<year>\d{2,4})/u,
  /(?<name>\p{L}{3,10})\.?[ -](?<day>\d{1,2})(?:st|nd|rd|th)?,?[ -](?<year>\d{4})/u,
].map(({ source }) => new RegExp(`^(?:\\p{L}{2,10}\\.?,? )?${source}$`, 'iu'))

/**
 * Reads a date with or without a time. `certain` is the order of day and month that a number above 12 shows. `day` is in
 * ms since 1970, and undefined if the day does not exist or the order is not known.
 */
function parse(text: string, given?: First) {
  if (text.length > maxCharacters) return undefined
  const clock = clockIn(text)
  const start = text.slice(0, clock?.index).normalize()
  const groups = forms.find((form) => form.test(start))?.exec(start)?.groups
  if (!groups) return undefined
  const { year = '', name, one, two, separator } = groups
  const isMonthFirst = Number(two) > 12 ? 'month' : undefined
  const certain: First | undefined = Number(one) > 12 ? 'day' : isMonthFirst
  const first = certain ?? (one === two ? 'day' : given) ?? (separator === '.' ? 'day' : undefined)
  const [inDay, inMonth] = first === 'day' ? [one, two] : [two, first && one]
  const day = Number(groups.day ?? inDay)
  const month = (name ? (monthsByName.get(withoutAccents(name)) ?? 0) : Number(groups.month ?? inMonth)) - 1
  const century = Number(year) < 70 ? 2000 : 1900
  const fullYear = year.length === 2 ? century + Number(year) : Number(year)
  const date = new Date(Date.UTC(fullYear, month, day))
  const isValid = fullYear >= 1000 && date.getUTCMonth() === month && date.getUTCDate() === day
  return { clock, certain, separator, day: isValid ? date.getTime() : undefined }
}

/** True for a date with or without a time, also if the order of day and month, or the time zone, is unknown. */
export const isDate = (text: string): boolean => parse(text, 'day')?.day !== undefined

/** Returns `20261120T143000Z`, `2026年11月20日` and no-break spaces with the usual separators. */
const withSeparators = (text: string): string =>
  /[^ -~]|^\d{8}T/.test(text)
    ? text
        .replace(/\s+/g, ' ')
        .replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(?=Z?$)/, '$1-$2-$3T$4:$5:$6')
        .replace(/^(\d{4})[年년] ?(\d{1,2})[月월] ?(\d{1,2})[日일]/, '$1-$2-$3')
    : text

const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/** Returns a time in UTC, or the date of a due date at midnight in the time zone. */
function shown(instant: number, isDue: boolean, zone: string): string {
  const local = isDue ? instant + offsetIn(zone, instant) : NaN
  return local % dayMs === 0 ? dateOf(local) : new Date(instant).toISOString()
}

/** Reads the dates of one file. */
export class Dates {
  /**
   * The order of day and month. If it is undefined, a date such as 3/4/2026 is ambiguous, and only `format` can read
   * it. A format such as YY/MM/DD implies no order.
   */
  first?: First
  /** True after `zone` was used: for a time without an offset in a row without a time zone. */
  usedZone = false
  readonly zone: string
  private readonly format?: string
  private reportsOrder = false
  /** The separator of the latest date of each order. */
  private readonly orders = new Map<First, string>()

  /** @param report gets a line if a date has another order than the format */
  constructor(
    { dateFormat, timeZone = 'UTC' }: { dateFormat?: string; timeZone?: string },
    private readonly report: (message: string) => void,
  ) {
    this.zone = timeZone
    this.format = dateFormat && dateFormatOf(dateFormat)
    if (this.format && /^[^dy]*[dML][^y]*y+[^y]*$|^[^dML]*yyyy[^dML]*[ML]+[^ML]*d/.test(this.format))
      this.first = this.format.indexOf('d') < this.format.search(/[ML]/) ? 'day' : 'month'
  }

  /** Collects the orders of day and month in the file. */
  scan(text: string): void {
    const { certain, separator } = parse(text) ?? {}
    if (certain || separator === '.') this.orders.set(certain ?? 'day', separator!)
  }

  /** Sets the order, unless it is given. Returns the format, if all scanned dates agree on the order. */
  decideOrder(): string | undefined {
    const [order, another] = this.orders
    if (this.first || this.format || !order || another) return undefined
    const [first, separator] = order
    this.first = first
    return (first === 'day' ? ['DD', 'MM', 'YYYY'] : ['MM', 'DD', 'YYYY']).join(separator)
  }

  /**
   * Returns a date, or an ISO 8601 time in UTC. Returns undefined if the text is no date, or is ambiguous.
   * @param givenZone of the row, or ''
   */
  read(text: string, givenZone = '', isDue = false): string | undefined {
    const zone = (givenZone && zoneIn(givenZone)) || this.zone
    // With a known order, `guess` reads the same dates as the format, and is faster.
    const known = this.first && this.guess(text, isDue, zone)
    return known ?? this.readFormat(text, isDue, zone) ?? this.guess(text, isDue, zone)
  }

  private readFormat(text: string, isDue: boolean, zone: string): string | undefined {
    if (!this.format || text.length > maxCharacters) return undefined
    const date = DateTime.fromFormat(text, this.format, { zone, locale: 'en' })
    if (!date.isValid) return undefined
    return /[hH]/.test(this.format) ? shown(date.toMillis(), isDue, zone) : date.toISODate()
  }

  private guess(text: string, isDue: boolean, zone: string): string | undefined {
    // Milliseconds since 1970, as ClickUp writes them, or seconds.
    if (/^[1-9]\d{9}(\d{3})?$/.test(text)) return shown(Number(text.padEnd(13, '0')), isDue, zone)
    const { day, clock, certain } = parse(withSeparators(text), this.first) ?? {}
    if (day === undefined) return undefined
    const isOther = this.format && this.first && certain && certain !== this.first
    if (isOther && !this.reportsOrder) {
      this.reportsOrder = true
      const order = 'does not have the order of day and month in mapping.dateFormat'
      this.report(`The date "${text}" ${order}. Such dates were read in the only possible order`)
    }
    if (!clock || (isDue && clock.ms === 0)) return dateOf(day)
    if (clock.zone === '') return undefined
    this.usedZone ||= clock.zone === undefined && zone === this.zone
    return shown(instantOf(day + clock.ms, clock.zone ?? zone), isDue, zone)
  }
}

const sample = DateTime.utc(2026, 11, 21)

/** Returns the format for luxon; undefined if it lacks the day, month or year, or has a letter in two places. */
export function dateFormatOf(given: string): string | undefined {
  // Other tools write the day as D, the year as Y and a.m. as A.
  const format = given.replace(/[DYA]/g, (letter) => letter.toLowerCase())
  // luxon converts a format to a regular expression. Repeated letters, as in `HmsHmsHms`, would take exponential time.
  const runs = format.replace(/'[^']*'?/g, ' ').match(/([A-Za-z])\1*/g) ?? []
  const letters = runs.map((run) => run[0]).join('')
  // Other letters mean several parts of a date, or parts that dates in files do not have.
  const isKnown = /^[dMLyHhmsSaZzE]*$/.test(letters) && new Set(letters).size === letters.length
  if (!isKnown || !/d/.test(letters) || !/[ML]/.test(letters) || !/y/.test(letters)) return undefined
  try {
    const read = DateTime.fromFormat(sample.toFormat(format), format, { zone: 'UTC', locale: 'en' })
    return read.toISODate() === sample.toISODate() ? format : undefined
  } catch {
    return undefined
  }
}

/** Returns a line for the report about a date that was not read. */
export function unreadDate(text: string): string {
  return `The date "${cut(text, 100)}" cannot be read: ${adviceFor(text.split('→').at(-1)!.trim())}`
}

function adviceFor(date: string): string {
  // Spreadsheets store a date as the number of its day.
  if (/^\d{5}([.,]\d+)?$/.test(date)) return 'format the column of the spreadsheet as dates'
  if (/^(\p{L}{3,10}\.? \d{1,2}|\d{1,2}\.? \p{L}{3,10}|\d{1,2}[./]\d{1,2}\.?)$/u.test(date))
    return 'it has no year'
  if (date.length <= maxCharacters && clockIn(date)?.zone === '') return 'its time zone is not known'
  if (!/\d.*\d.*\d/s.test(date)) return 'it has no day, month and year'
  return 'send mapping.dateFormat, such as DD/MM/YYYY'
}
