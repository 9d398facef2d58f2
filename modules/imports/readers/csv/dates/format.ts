import { DateTime } from 'luxon'

/** Converts a format to the letters of luxon. Other tools write the day as D, the year as Y and a.m. as A. */
const luxonFormat = (format: string): string => format.replace(/[DYA]/g, (letter) => letter.toLowerCase())

const sample = DateTime.utc(2026, 11, 21)

/** Returns the format for luxon; undefined if it lacks the day, month or year. */
export function dateFormatOf(given: string): string | undefined {
  const format = luxonFormat(given)
  try {
    const read = DateTime.fromFormat(sample.toFormat(format), format, { zone: 'UTC', locale: 'en' })
    const isWhole = /d/.test(format) && /[ML]/.test(format) && /y/.test(format)
    return isWhole && read.toISODate() === sample.toISODate() ? format : undefined
  } catch {
    return undefined
  }
}
