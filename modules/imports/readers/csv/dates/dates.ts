import { DateTime } from 'luxon'
import { ImportError } from '../../../items.ts'
import type { Mapping } from '../../../mapping.ts'
import { clockIn, hasOffset, instantOf } from './clock.ts'
import { dayOf, type First, isDay, isoDay } from './day.ts'
import { dateFormatOf } from './format.ts'
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
  constructor({ dateFormat, timeZone = 'UTC' }: Mapping) {
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

  /** Returns a date, or an ISO 8601 time in UTC. Returns undefined if the text is no date, or is ambiguous. */
  read(text: string, zone?: string): string | undefined {
    if (text.length > maxCharacters) return undefined
    const clock = this.clockOf(zone)
    const isFormatFirst = this.format && !this.isUsual
    return isFormatFirst
      ? (this.readFormat(text, clock) ?? this.guess(text, clock))
      : (this.guess(text, clock) ?? this.readFormat(text, clock))
  }

  /** True if only the order of day and month is unknown. */
  isAmbiguous(text: string): boolean {
    if (this.first || text.length > maxCharacters) return false
    const day = dayOf(text.slice(0, clockIn(text)?.index), 'day')
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

  private readFormat(text: string, { zone }: ZoneClock): string | undefined {
    if (!this.format) return undefined
    const date = DateTime.fromFormat(text, this.format, { zone, locale: 'en' })
    if (!date.isValid) return undefined
    return /[hH]/.test(this.format) ? new Date(date.toMillis()).toISOString() : isoDay(date)
  }

  private guess(text: string, zoneClock: ZoneClock): string | undefined {
    // Milliseconds since 1970, as ClickUp writes them.
    if (/^\d{13}$/.test(text)) return new Date(Number(text)).toISOString()
    const clock = clockIn(text)
    const day = dayOf(text.slice(0, clock?.index), this.first)
    if (!day || !isDay(day)) return undefined
    if (!clock) return isoDay(day)
    if (!hasOffset(clock) && zoneClock.zone === this.zone) this.usedZone = true
    return instantOf(day, clock, zoneClock)
  }
}
