import { DateTime, IANAZone, Info } from 'luxon'
import { withoutAccents } from '../../convert/texts.ts'

/** `day` for 21/11/2026, `month` for 11/21/2026. */
export type First = 'day' | 'month'

const languages = 'en es de fr pt it nl pl cs da nb sv ro tr ru uk'.split(' ')
const minMonthCharacters = 3

/** Formats that give the names of months: alone, after a day, and abbreviated. */
const nameFormats = [{ month: 'long' }, { month: 'long', day: 'numeric' }, { month: 'short' }] as const
/** The months, from 1, that a name or the start of a name means. An ambiguous start means several. */
const months = new Map<string, Set<number>>()
for (const format of languages.flatMap((one) => nameFormats.map((it) => new Intl.DateTimeFormat(one, it))))
  for (let month = 1; month <= 12; month++) {
    const parts = format.formatToParts(new Date(2026, month - 1))
    const name = withoutAccents(parts.find(({ type }) => type === 'month')!.value).replace('.', '')
    for (let end = minMonthCharacters; end <= name.length; end++)
      months.set(name.slice(0, end), (months.get(name.slice(0, end)) ?? new Set()).add(month))
  }

function monthNamed(name: string): number | undefined {
  const [month, other] = months.get(withoutAccents(name)) ?? []
  return other ? undefined : month
}

/** The time zones that an abbreviation means everywhere or usually. */
const abbreviations = new Map(
  `Z+0,UTC+0,GMT+0,WET+0,WEST+1,CET+1,MEZ+1,CEST+2,MESZ+2,EET+2,EEST+3,MSK+3,JST+9,KST+9,AEST+10,AEDT+11,NZST+12,NZDT+13,
  EST-5,EDT-4,CDT-5,MST-7,MDT-6,PST-8,PDT-7,AKST-9,AKDT-8,HST-10`
    .split(/,\s*/)
    .map((pair) => [pair.replace(/[^A-Z]/g, ''), `UTC${pair.replace(/[A-Z]/g, '')}`]),
)

/** Returns the name of the time zone that a text means, or null. */
function zoneIn(text: string): string | null {
  const [, hours, minutes = '00'] = /^(?:GMT|UTC)?\s*([+-]\d{1,2}):?(\d{2})?$/i.exec(text) ?? []
  if (hours) return `UTC${hours}:${minutes}`
  return abbreviations.get(text.toUpperCase()) ?? (text.includes('/') ? (zoneNamed(text) ?? null) : null)
}

export const isZone = (zone: string): boolean => zone === 'UTC' || IANAZone.isValidZone(zone)

/**
 * Returns the usual name of a time zone: `Europe/Berlin` for `europe/BERLIN`. Undefined for other texts.
 * luxon stores each name that it gets until the process ends.
 */
function zoneNamed(text: string): string | undefined {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone
  } catch {
    return undefined
  }
}

const time =
  /(?:T|,?\s+(?:(?:at|um|om|kl|alle|à|às|a las|o)\s+)?)(\d{1,2})(?:[:h.](\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?|(?=\s*[ap]\.?\s?m))(?:\s*([ap])\.?\s?m\.?|\s*uhr)?\s*(Z\b|(?:GMT|UTC)?[+-]\d{1,2}(?::?\d{2})?|[A-Z]+\/[A-Z_/]+|[A-Z]{2,5})?(?:\s*(?:\(([^()]*(?:\([^()]*\)[^()]*)*)\)|\[[^\][]*\]))?$/i

/**
 * Returns the time at the end of a text, from `index` on, in ms of the day. Its zone is undefined if the text has none, and
 * null if it is unknown.
 */
export function clockIn(text: string) {
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

const maxCharacters = 80
/** A weekday may be before the numbers. */
const numbers = /^(?:\p{L}{2,10}\.?,? )?(\d{1,4})([-/.]) ?(\d{1,2})\2 ?(\d{1,4})\.?$/u
const dayFirst =
  /^(?:\p{L}{2,10}\.?,? )?(\d{1,2})(?:st|nd|rd|th|er|º)?[ /.-]+(?:de )?(\p{L}{3,10})\.?,?[ /.-]+(?:de )?(\d{2,4})$/iu
const monthFirst = /^(?:\p{L}{2,10}\.?,? )?(\p{L}{3,10})\.?[ -](\d{1,2})(?:st|nd|rd|th)?,?[ -](\d{4})$/iu

/**
 * Returns which of day and month comes first in a date. `certain`: a number above 12 shows the order. `usual`: the
 * order that the separator suggests, if no number shows it.
 */
export function orderOf(text: string): { certain?: First; usual?: First; separator?: string } {
  if (text.length > maxCharacters) return {}
  const [, one = '', separator, two] = numbers.exec(text.slice(0, clockIn(text)?.index)) ?? []
  if (one === '' || one.length > 2) return {}
  const certain = Number(one) > 12 ? 'day' : Number(two) > 12 ? 'month' : undefined
  return { certain, usual: certain ?? (separator === '.' ? 'day' : undefined), separator }
}

/** Reads a date without a time. */
function dayOf(text: string, first: First | undefined): DateTime | undefined {
  const [year = 0, month, day] = (numericDay(text, first) ?? namedDay(text.normalize()))?.map(Number) ?? []
  if (!month) return undefined
  const date = DateTime.utc(year < 100 ? year + (year < 70 ? 2000 : 1900) : year, month, day!)
  return date.isValid && date.year >= 1000 ? date : undefined
}

/** Returns year, month and day. */
function numericDay(text: string, given?: First): unknown[] | undefined {
  const [, one, , two, three = ''] = numbers.exec(text) ?? []
  if (!one || one.length === 3 || three.length === 3) return undefined
  if (one.length === 4) return [one, two, three]
  const { certain, usual } = orderOf(text)
  const first = certain ?? (one === two ? 'day' : given) ?? usual
  if (!first || three.length === 1) return undefined
  return first === 'day' ? [three, two, one] : [three, one, two]
}

function namedDay(text: string): unknown[] | undefined {
  const [, day, name = '', year] = dayFirst.exec(text) ?? []
  if (day) return [year, monthNamed(name), day]
  const [, month, dayAfter, yearAfter] = monthFirst.exec(text) ?? []
  return month ? [yearAfter, monthNamed(month), dayAfter] : undefined
}

/** True for a date with or without a time, also if the order of day and month, or the time zone, is unknown. */
export const isDate = (text: string): boolean =>
  text.length <= maxCharacters && dayOf(text.slice(0, clockIn(text)?.index), 'day') !== undefined

/** Returns `20261120T143000Z`, `2026年11月20日` and no-break spaces with the usual separators. */
const withSeparators = (text: string): string =>
  /[^ -~]|^\d{8}T/.test(text)
    ? text
        .replace(/\s+/g, ' ')
        .replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(?=Z?$)/, '$1-$2-$3T$4:$5:$6')
        .replace(/^(\d{4})[年년] ?(\d{1,2})[月월] ?(\d{1,2})[日일]/, '$1-$2-$3')
    : text

/** Returns the time in UTC. luxon needs more time for the same. */
const isoOf = (time: DateTime): string => new Date(time.toMillis()).toISOString()
const isMidnight = (time: DateTime): boolean => time.equals(time.startOf('day'))

const maxZones = 1_000
const maxDays = 20_000
const dayMs = 86_400_000

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
  readonly format?: string
  /** The names of time zones by their texts in the file. */
  private readonly zones = new Map<string, string>()
  /** Offsets by time zone and day, because luxon takes microseconds. Undefined: the offset changes near the day. */
  private readonly offsets = new Map<string, number | undefined>()

  constructor({ dateFormat, timeZone = 'UTC' }: { dateFormat?: string; timeZone?: string }) {
    this.zone = timeZone
    this.format = dateFormat && dateFormatOf(dateFormat)
    if (this.format && /^[^dy]*[dML][^y]*y+[^y]*$|^[^dML]*yyyy[^dML]*[ML]+[^ML]*d/.test(this.format))
      this.first = this.format.indexOf('d') < this.format.search(/[ML]/) ? 'day' : 'month'
  }

  /**
   * Returns a date, or an ISO 8601 time in UTC. Returns undefined if the text is no date, or is ambiguous.
   * @param isDue a due date at midnight is a date, in every time zone
   */
  read(text: string, zone?: string, isDue = false): string | undefined {
    if (text.length > maxCharacters) return undefined
    // With a usual order, `guess` reads the same dates as the format, and is faster.
    const guess = this.first && this.guess(text, isDue, zone)
    return guess ?? this.readFormat(text, isDue, zone) ?? this.guess(text, isDue, zone)
  }

  /** Returns the name of a time zone of the file, or the default time zone for another text. */
  zoneOf(given = this.zone): string {
    if (!given || given === this.zone) return this.zone
    const zone = this.zones.get(given) ?? ((given.length < maxCharacters && zoneNamed(given)) || this.zone)
    if (this.zones.size < maxZones) this.zones.set(given, zone)
    return zone
  }

  private readFormat(text: string, isDue: boolean, given?: string): string | undefined {
    if (!this.format) return undefined
    const date = DateTime.fromFormat(text, this.format, { zone: this.zoneOf(given), locale: 'en' })
    if (!date.isValid) return undefined
    const isTime = /[hH]/.test(this.format) && !(isDue && isMidnight(date))
    return isTime ? isoOf(date) : date.toISODate()
  }

  private guess(written: string, isDue: boolean, given?: string): string | undefined {
    const text = withSeparators(written)
    // Milliseconds since 1970, as ClickUp writes them, or seconds.
    if (/^[1-9]\d{9}(\d{3})?$/.test(text)) {
      const instant = DateTime.fromMillis(Number(text.padEnd(13, '0')), { zone: this.zoneOf(given) })
      return isDue && isMidnight(instant) ? instant.toISODate()! : isoOf(instant)
    }
    const clock = clockIn(text)
    const day = dayOf(text.slice(0, clock?.index), this.first)
    if (!day || !clock || (isDue && clock.ms === 0)) return day?.toISODate() ?? undefined
    if (clock.zone === null) return undefined
    const zone = clock.zone ?? this.zoneOf(given)
    this.usedZone ||= clock.zone === undefined && zone === this.zone
    const local = day.toMillis() + clock.ms
    return new Date(local - this.offsetAt(local, zone)).toISOString()
  }

  /** Returns the offset of a time zone in ms. @param local in ms since 1970, as if it were in UTC */
  private offsetAt(local: number, zone: string): number {
    const offsetAt = (time: number) => Info.normalizeZone(zone).offset(time) * 60_000
    const day = Math.floor(local / dayMs)
    const key = `${zone} ${day}`
    if (!this.offsets.has(key) && this.offsets.size < maxDays) {
      const [before, after] = [offsetAt((day - 1) * dayMs), offsetAt((day + 2) * dayMs)]
      this.offsets.set(key, before === after ? before : undefined)
    }
    return this.offsets.get(key) ?? offsetAt(local - offsetAt(local))
  }
}

/** Other letters of luxon mean several parts of a date, or parts that dates in files do not have. */
const letters = 'dMLyHhmsSaZzE'
const sample = DateTime.utc(2026, 11, 21)

/** Returns the format for luxon; undefined if it lacks the day, month or year, or has a letter in two places. */
export function dateFormatOf(given: string): string | undefined {
  // Other tools write the day as D, the year as Y and a.m. as A.
  const format = given.replace(/[DYA]/g, (letter) => letter.toLowerCase())
  // luxon converts a format to a regular expression. Repeated letters, as in `HmsHmsHms`, would take exponential time.
  const found = (format.replace(/'[^']*'?/g, ' ').match(/([A-Za-z])\1*/g) ?? []).map((run) => run[0]!)
  if (new Set(found).size < found.length || !found.every((letter) => letters.includes(letter)))
    return undefined
  try {
    const read = DateTime.fromFormat(sample.toFormat(format), format, { zone: 'UTC', locale: 'en' })
    const isWhole = /d/.test(format) && /[ML]/.test(format) && /y/.test(format)
    return isWhole && read.toISODate() === sample.toISODate() ? format : undefined
  } catch {
    return undefined
  }
}
