import { DateTime } from 'luxon'
import { ImportError } from '../../items.ts'
import { clockIn, dayOf, type First, instantOf, isDay, isoDay } from './date-texts.ts'
import { isZone, ZoneClock, zoneNamed } from './zones.ts'

const maxCharacters = 80
/** A clock has up to 20,000 days in memory. */
const maxZones = 50
/** The longest name of a time zone has fewer characters. */
const maxZoneCharacters = 50

/** Reads the dates of one file. */
export class Dates {
  /** If undefined, 3/4/2026 is ambiguous and not read. */
  first?: First
  /** True after `zone` was used: for a time without an offset in a row without a time zone. */
  usedZone = false
  readonly zone: string
  private readonly format?: string
  /** True if the format has a usual order. `guess` then reads the same dates, and is faster. */
  readonly isUsual: boolean = true
  private readonly clocks = new Map<string, ZoneClock>()

  /** @throws ImportError if the format or the time zone cannot be used */
  constructor({ dateFormat, timeZone = 'UTC' }: { dateFormat?: string; timeZone?: string }) {
    this.zone = timeZone
    if (!isZone(timeZone))
      throw new ImportError(
        'mapping.timeZone must be an IANA time zone or an offset, such as Europe/Berlin or +02:00',
      )
    if (!dateFormat) return
    this.format = dateFormatOf(dateFormat)
    if (!this.format)
      throw new ImportError(
        'mapping.dateFormat must have a day, month and year, and each letter in one place, such as DD/MM/YYYY',
      )
    this.isUsual = /^[^dy]*[dML][^y]*y+[^y]*$|^[^dML]*yyyy[^dML]*[ML]+[^ML]*d/.test(this.format)
    this.first = this.format.indexOf('d') < this.format.search(/[ML]/) ? 'day' : 'month'
  }

  /**
   * Returns a date, or an ISO 8601 time in UTC. Returns undefined if the text is no date, or is ambiguous.
   * @param isDue a due date at midnight is a date, in every time zone
   */
  read(text: string, zone?: string, isDue = false): string | undefined {
    if (text.length > maxCharacters) return undefined
    const isFormatFirst = this.format && !this.isUsual
    return isFormatFirst
      ? (this.readFormat(text, isDue, zone) ?? this.guess(text, isDue, zone))
      : (this.guess(text, isDue, zone) ?? this.readFormat(text, isDue, zone))
  }

  /** True if only the order of day and month, or the time zone, is unknown. */
  isAmbiguous(text: string): boolean {
    if (text.length > maxCharacters) return false
    const day = dayOf(text.slice(0, clockIn(text)?.index), this.first ?? 'day')
    return day !== undefined && isDay(day) && this.read(text) === undefined
  }

  /** Returns the name of a time zone of the file, or the default time zone for another text. */
  zoneOf(given: string): string {
    return this.clockOf(given).zone
  }

  private clockOf(given = this.zone): ZoneClock {
    const zone = given.length > maxZoneCharacters ? this.zone : given
    const known = this.clocks.get(zone)
    if (known) return known
    const clock = new ZoneClock(zone === this.zone ? zone : (zoneNamed(zone) ?? this.zone))
    if (this.clocks.size < maxZones) this.clocks.set(zone, clock)
    return clock
  }

  private readFormat(text: string, isDue: boolean, given?: string): string | undefined {
    if (!this.format) return undefined
    const date = DateTime.fromFormat(text, this.format, { zone: this.clockOf(given).zone, locale: 'en' })
    if (!date.isValid) return undefined
    const isTime = /[hH]/.test(this.format) && !(isDue && date.equals(date.startOf('day')))
    return isTime ? new Date(date.toMillis()).toISOString() : isoDay(date)
  }

  private guess(text: string, isDue: boolean, given?: string): string | undefined {
    // Milliseconds since 1970, as ClickUp writes them, or seconds.
    if (/^[1-9]\d{9}(\d{3})?$/.test(text)) return new Date(Number(text.padEnd(13, '0'))).toISOString()
    const clock = clockIn(text)
    const day = dayOf(text.slice(0, clock?.index), this.first)
    if (!day || !isDay(day)) return undefined
    if (!clock || (isDue && clock.ms === 0)) return isoDay(day)
    return instantOf(day, clock, (own) => {
      if (own !== undefined) return this.clockOf(own)
      const zone = this.clockOf(given)
      if (zone.zone === this.zone) this.usedZone = true
      return zone
    })
  }
}

/** Other letters of luxon mean several parts of a date, or parts that dates in files do not have. */
const letters = 'dMLyHhmsSaZzE'
const sample = DateTime.utc(2026, 11, 21)

/** Returns the format for luxon; undefined if it lacks the day, month or year, or has a letter in two places. */
export function dateFormatOf(given: string): string | undefined {
  // Other tools write the day as D, the year as Y and a.m. as A.
  const format = given.replace(/[DYA]/g, (letter) => letter.toLowerCase())
  if (!hasKnownLettersOnce(format)) return undefined
  try {
    const read = DateTime.fromFormat(sample.toFormat(format), format, { zone: 'UTC', locale: 'en' })
    const isWhole = /d/.test(format) && /[ML]/.test(format) && /y/.test(format)
    return isWhole && read.toISODate() === sample.toISODate() ? format : undefined
  } catch {
    return undefined
  }
}

/** Luxon converts a format to a regular expression. Repeated letters, as in `HmsHmsHms`, would take exponential time. */
function hasKnownLettersOnce(format: string): boolean {
  const runs = format.replace(/'[^']*'?/g, ' ').match(/([A-Za-z])\1*/g) ?? []
  const found = runs.map((run) => run[0]!)
  return found.every((letter) => letters.includes(letter)) && new Set(found).size === found.length
}
