import { DateTime } from 'luxon'
import { ImportError } from '../../items.ts'
import type { Mapping } from '../../mapping.ts'
import { isZone, ZoneClock } from './zones.ts'

/** `day` for 21/11/2026, `month` for 11/21/2026. */
export type First = 'day' | 'month'

interface Day {
  year: number
  month: number
  day: number
}

const maxCharacters = 80
const maxZones = 500
const numbers = /^(\d{1,4})([-/.])(\d{1,2})\2(\d{1,4})$/
const dayFirst = /^(?:[a-z]{3,9},? )?(\d{1,2})(?:st|nd|rd|th)?[ /.-]+([a-z]{3,9})\.?,?[ /.-]+(\d{2,4})$/i
const monthFirst = /^(?:[a-z]{3,9},? )?([a-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})$/i
const time =
  /(?:T|,?\s+(?:at\s+)?)(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(?:\s*([ap])\.?m\.?)?\s*(Z|(?:GMT|UTC)?[+-]\d{2}:?\d{2}|GMT|UTC)?(?:\s*\([^)]*\))?$/i
const months = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ')
const monthNames =
  /^(jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec|january|february|march|april|august|september|october|november|december)$/i

/** Reads the dates of one file. */
export class Dates {
  /** With undefined, 3/4/2026 cannot be read. */
  first?: First
  /** True after a time without an offset was read, whose row has no time zone. */
  usedZone = false
  readonly zone: string
  private readonly format?: string
  /** True if the parts of the format have a usual order, so that `guess` reads them alike, and faster. */
  private readonly isUsual: boolean = true
  private readonly clocks = new Map<string, ZoneClock>()

  /** @throws ImportError if the format or the time zone cannot be used */
  constructor({ dateFormat, timeZone = 'UTC' }: Mapping) {
    this.zone = timeZone
    if (!isZone(timeZone))
      throw new ImportError(`mapping.timeZone must be an IANA time zone, such as Europe/Berlin`)
    if (!dateFormat) return
    this.format = dateFormat.replace(/[DYA]/g, (letter) => letter.toLowerCase())
    if (!/y/.test(this.format) || !/[ML]/.test(this.format) || !/d/.test(this.format))
      throw new ImportError('mapping.dateFormat must have a day, month and year, such as DD/MM/YYYY')
    this.isUsual = /^[^dy]*[dML][^y]*y+[^y]*$|^[^dML]*yyyy[^dML]*[ML]+[^ML]*d/.test(this.format)
    this.first = this.format.indexOf('d') < this.format.search(/[ML]/) ? 'day' : 'month'
  }

  /** Returns a date, or an ISO 8601 time in UTC. Returns undefined if the text is no date, or can be two dates. */
  read(text: string, zone?: string): string | undefined {
    if (text.length > maxCharacters) return undefined
    const clock = this.clockOf(zone)
    const isFormatFirst = this.format && !this.isUsual
    return isFormatFirst
      ? (this.readFormat(text, clock) ?? this.guess(text, clock))
      : (this.guess(text, clock) ?? this.readFormat(text, clock))
  }

  private clockOf(zone = this.zone): ZoneClock {
    const known = this.clocks.get(zone)
    if (known) return known
    const clock = new ZoneClock(isZone(zone) ? zone : this.zone)
    if (this.clocks.size < maxZones) this.clocks.set(zone, clock)
    return clock
  }

  private readFormat(text: string, { zone }: ZoneClock): string | undefined {
    if (!this.format) return undefined
    const date = DateTime.fromFormat(text, this.format, { zone, locale: 'en' })
    if (!date.isValid) return undefined
    return /[hH]/.test(this.format) ? new Date(date.toMillis()).toISOString() : isoDay(date)
  }

  private guess(text: string, zoneClock: ZoneClock): string | undefined {
    const clock = time.exec(text)
    const day = dayOf(clock ? text.slice(0, clock.index) : text, this.first)
    if (!day || !isDay(day)) return undefined
    if (!clock) return isoDay(day)
    if (!clock[6] && zoneClock.zone === this.zone) this.usedZone = true
    return instantOf(day, clock, zoneClock)
  }
}

/** Returns which number of a date must be the day, if only one of both can be. */
export function firstOf(text: string): { first?: First; isAmbiguous?: boolean; separator?: string } {
  if (text.length > maxCharacters) return {}
  const clock = time.exec(text)
  const [, one = '', separator, two = ''] = numbers.exec(clock ? text.slice(0, clock.index) : text) ?? []
  if (one === '' || one.length > 2) return {}
  if (Number(one) > 12) return { first: 'day', separator }
  if (Number(two) > 12) return { first: 'month', separator }
  if (separator === '.') return { first: 'day', separator }
  return one === two ? {} : { isAmbiguous: true }
}

function dayOf(text: string, first: First | undefined): Day | undefined {
  const numeric = numbers.exec(text)
  if (numeric) return numericDay(text, numeric[1]!, numeric[3]!, numeric[4]!, first)
  const [, day, name, year] = dayFirst.exec(text) ?? []
  if (day) return named(name!, day, year!)
  const [, month, dayAfter, yearAfter] = monthFirst.exec(text) ?? []
  return month ? named(month, dayAfter!, yearAfter!) : undefined
}

function numericDay(text: string, one: string, two: string, three: string, given?: First): Day | undefined {
  if (one.length === 4) return { year: Number(one), month: Number(two), day: Number(three) }
  if (one.length === 3 || three.length === 1 || three.length === 3) return undefined
  const only = firstOf(text)
  const first = only.first ?? (one === two ? 'day' : given)
  if (!first) return undefined
  const [day, month] = first === 'day' ? [one, two] : [two, one]
  return { year: fullYear(three), month: Number(month), day: Number(day) }
}

const named = (name: string, day: string, year: string): Day | undefined =>
  monthNames.test(name)
    ? { year: fullYear(year), month: months.indexOf(name.slice(0, 3).toLowerCase()) + 1, day: Number(day) }
    : undefined

const fullYear = (year: string): number =>
  year.length > 2 ? Number(year) : Number(year) + (Number(year) < 70 ? 2000 : 1900)

function isDay({ year, month, day }: Day): boolean {
  const date = new Date(Date.UTC(year, month - 1, day))
  return year >= 1000 && date.getUTCMonth() === month - 1 && date.getUTCDate() === day
}

const isoDay = ({ year, month, day }: Day): string =>
  `${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`

function instantOf(day: Day, clock: RegExpExecArray, zone: ZoneClock): string | undefined {
  const [, hours, minutes, seconds = '0', fraction = '', half, offset] = clock
  let hour = Number(hours)
  if (half && (hour < 1 || hour > 12)) return undefined
  if (half) hour = (hour % 12) + (half.toLowerCase() === 'p' ? 12 : 0)
  if (hour > 23 || Number(minutes) > 59 || Number(seconds) > 59) return undefined
  const milliseconds = Number(fraction.padEnd(3, '0').slice(0, 3))
  const utc = Date.UTC(day.year, day.month - 1, day.day, hour, Number(minutes), Number(seconds), milliseconds)
  if (offset) return new Date(utc - offsetMs(offset)).toISOString()
  return new Date(utc - zone.offsetMs(utc)).toISOString()
}

function offsetMs(offset: string): number {
  const [, sign, hours, minutes] = /([+-])(\d{2}):?(\d{2})$/.exec(offset) ?? []
  const ms = (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000
  return sign === '-' ? -ms : ms
}
