import { DateTime, IANAZone } from 'luxon'

const dayMs = 86_400_000
/** Larger than the offset of any time zone. */
const marginMs = dayMs / 2 + 3 * 3_600_000
const maxDays = 20_000

export const isZone = (zone: string): boolean => zone === 'UTC' || IANAZone.isValidZone(zone)

/**
 * Returns the usual name of a time zone of the file: `Europe/Berlin` for `europe/BERLIN`. Undefined for other texts.
 * luxon stores each name that it gets until the process ends.
 */
export function zoneNamed(text: string): string | undefined {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone
  } catch {
    return undefined
  }
}

/** Caches the offsets of a time zone by day, because a look-up in the rules of the zone takes microseconds. */
export class ZoneClock {
  private readonly rules: IANAZone
  /** By day; null for days near a change of the offset. */
  private readonly days = new Map<number, number | null>()

  constructor(readonly zone: string) {
    this.rules = IANAZone.create(zone)
  }

  /** Returns the offset at a local time. @param localMs the local time as if it were in UTC */
  offsetMs(localMs: number): number {
    if (this.zone === 'UTC') return 0
    const day = Math.floor(localMs / dayMs)
    let offset = this.days.get(day)
    if (offset === undefined) {
      offset = this.ofDay(day * dayMs)
      if (this.days.size < maxDays) this.days.set(day, offset)
    }
    if (offset !== null) return offset
    const time = DateTime.fromMillis(localMs, { zone: 'UTC' }).setZone(this.zone, { keepLocalTime: true })
    return localMs - time.toMillis()
  }

  private ofDay(startMs: number): number | null {
    const before = this.rules.offset(startMs - marginMs)
    return before === this.rules.offset(startMs + dayMs + marginMs) ? before * 60_000 : null
  }
}
