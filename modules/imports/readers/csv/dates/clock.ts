import type { ZoneClock } from './zones.ts'

export interface Day {
  year: number
  month: number
  day: number
}

const time =
  /(?:T|,?\s+(?:at\s+)?)(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(?:\s*([ap])\.?m\.?)?\s*(Z|(?:GMT|UTC)?[+-]\d{2}:?\d{2}|GMT|UTC)?(?:\s*\([^)]*\))?$/i

/** Returns the time at the end of a text. */
export const clockIn = (text: string): RegExpExecArray | null => time.exec(text)

export const hasOffset = (clock: RegExpExecArray): boolean => clock[6] !== undefined

/** Returns an ISO 8601 time in UTC. */
export function instantOf(day: Day, clock: RegExpExecArray, zone: ZoneClock): string | undefined {
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
