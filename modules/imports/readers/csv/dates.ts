import { LRUCache } from 'lru-cache'
import { Info } from 'luxon'
import { byWord, cut, withoutAccents } from '../../convert/texts.ts'
import words from '../../words.json' with { type: 'json' }

const orders = ['dmy', 'mdy', 'ymd', 'ydm'] as const
/** The order of day, month and year, such as `dmy` for 21/11/2026. */
type Order = (typeof orders)[number]

/** Returns the order in a format such as `DD/MM/YYYY HH:mm`; undefined for another text. */
export function orderOf(format: string): Order | undefined {
  // Quoted texts, and the letters of a time, have no order.
  const letters = format.replace(/'[^']*'?|[^A-Za-z]|[HhmsSaAZzE]/g, '').replaceAll('L', 'M')
  const parts = letters.toLowerCase().replace(/(.)\1+/g, '$1')
  const isCompact = /[dD][ML]|[ML][dD]/.test(format)
  return orders.find((order) => order === parts && (order.startsWith('y') || !isCompact))
}

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

/** The forms of a date without a time, below a weekday. `one`, `two` and `three` are numbers in an order. */
const forms = [
  /(?<one>\d{4}|\d{1,2})(?<separator>[-/.年년]) ?(?<two>\d{1,2})[-/.月월] ?(?<three>\d{4}|\d{1,2})[.日일]?/u,
  /(?<day>\d{1,2})(?:st|nd|rd|th|er|º)?[ /.-]+(?:de )?(?<name>\p{L}{3,10})\.?,?[ /.-]+(?:de )?(?<year>\d{2,4})/u,
  /(?<name>\p{L}{3,10})\.?[ -](?<day>\d{1,2})(?:st|nd|rd|th)?,?[ -](?<year>\d{4})/u,
].map(({ source }) => new RegExp(`^(?:\\p{L}{2,10}\\.?,? )?${source}$`, 'iu'))

/** Returns 20261120T143000Z with the usual separators. */
const withSeparators = (text: string): string =>
  text
    .replace(/\s+/g, ' ')
    .replace(/^(\d{4})(\d\d)(\d\d)(?=T|$)/, '$1-$2-$3')
    .replace(/(?<=\dT\d\d)(\d\d)(?=(\d\d)?Z?$)/, ':$1')
    .replace(/(?<=\dT\d\d:\d\d)(\d\d)(?=Z?$)/, ':$1')

/**
 * Reads a date with or without a time. `certain` is the order of day and month that a number above 12 shows. `day` is in
 * ms since 1970, and undefined if the day does not exist or the order is not known.
 */
function parse(given: string, order?: Order) {
  if (given.length > maxCharacters) return undefined
  const text = withSeparators(given)
  const clock = clockIn(text)
  const start = text.slice(0, clock?.index).normalize()
  const groups = forms.find((form) => form.test(start))?.exec(start)?.groups
  if (!groups) return undefined
  const { one = '', two = '', three = '', name, separator } = groups
  const isYearFirst = one.length === 4 || (order?.startsWith('y') && three.length === 2)
  const isMonthFirst = Number(two) > 12 ? 'mdy' : undefined
  const certain: Order | undefined = isYearFirst ? undefined : Number(one) > 12 ? 'dmy' : isMonthFirst
  const ofYearFirst = order === 'ydm' ? order : 'ymd'
  const ofYearLast = certain ?? (one === two ? 'dmy' : order) ?? (separator === '.' ? 'dmy' : undefined)
  const found = (isYearFirst ? ofYearFirst : ofYearLast) ?? ''
  const numberOf = (part: string) => [one, two, three][found.indexOf(part)] ?? ''
  const [day, year] = [groups.day ?? numberOf('d'), groups.year ?? numberOf('y')]
  const month = (name ? (monthsByName.get(withoutAccents(name)) ?? 0) : Number(numberOf('m'))) - 1
  const century = Number(year) < 70 ? 2000 : 1900
  const fullYear = year.length === 2 ? century + Number(year) : Number(year)
  const date = new Date(Date.UTC(fullYear, month, Number(day)))
  const isValid = fullYear >= 1000 && date.getUTCMonth() === month && date.getUTCDate() === Number(day)
  return { clock, certain, separator, day: isValid ? date.getTime() : undefined }
}

/** True for a date with or without a time, also if the order of day and month, or the time zone, is unknown. */
export const isDate = (text: string): boolean => parse(text, 'dmy')?.day !== undefined

const dayMs = 86_400_000
const offsetIn = (zone: string, time: number): number => Info.normalizeZone(zone).offset(time) * 60_000

const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/** Returns a time in UTC, or the date of a due date at midnight in the time zone. */
function shown(instant: number, isDue: boolean, zone: string): string {
  const local = isDue ? instant + offsetIn(zone, instant) : NaN
  return local % dayMs === 0 ? dateOf(local) : new Date(instant).toISOString()
}

export class Dates {
  /** If it is undefined, a date such as 3/4/2026 is ambiguous. */
  order?: Order | undefined
  /** True after `zone` was used: for a time without an offset in a row without a time zone. */
  usedZone = false
  readonly zone: string
  /** The separator of the latest date of each order. */
  private readonly found = new Map<Order, string>()

  constructor({ dateFormat = '', timeZone = 'UTC' }: { dateFormat?: string; timeZone?: string }) {
    this.zone = timeZone
    this.order = orderOf(dateFormat)
  }

  /** Collects the orders of day and month in the file. */
  scan(text: string): void {
    const { certain, separator } = parse(text) ?? {}
    if (certain || separator === '.') this.found.set(certain ?? 'dmy', separator!)
  }

  /** Sets the order, unless it is given. Returns the format, if all scanned dates agree on the order. */
  decideOrder(): string | undefined {
    const [found, another] = this.found
    if (this.order || !found || another) return undefined
    const [order, separator] = found
    this.order = order
    return (order === 'dmy' ? ['DD', 'MM', 'YYYY'] : ['MM', 'DD', 'YYYY']).join(separator)
  }

  /**
   * Returns a date, or an ISO 8601 time in UTC. Returns undefined if the text is no date, or is ambiguous.
   * @param givenZone of the row, or ''
   */
  read(text: string, givenZone = '', isDue = false): string | undefined {
    const zone = (givenZone && zoneIn(givenZone)) || this.zone
    // Milliseconds since 1970, as ClickUp writes them, or seconds.
    if (/^[1-9]\d{9}(\d{3})?$/.test(text)) return shown(Number(text.padEnd(13, '0')), isDue, zone)
    const { day, clock } = parse(text, this.order) ?? {}
    if (day === undefined) return undefined
    if (!clock || (isDue && clock.ms === 0)) return dateOf(day)
    if (clock.zone === '') return undefined
    this.usedZone ||= clock.zone === undefined && zone === this.zone
    const [local, ofTime] = [day + clock.ms, clock.zone ?? zone]
    return shown(local - offsetIn(ofTime, local - offsetIn(ofTime, local)), isDue, zone)
  }
}

/** Returns a line for the report about a date that was not read. */
export const unreadDate = (text: string): string =>
  `The date "${cut(text, 100)}" cannot be read: send mapping.dateFormat if its day, month and year are in another order`
