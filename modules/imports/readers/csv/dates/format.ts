import { DateTime } from 'luxon'

/** Other letters of luxon mean several parts of a date, or parts that dates in files do not have. */
const letters = 'dMLyHhmsSaZzE'

/** Converts a format to the letters of luxon. Other tools write the day as D, the year as Y and a.m. as A. */
const luxonFormat = (format: string): string => format.replace(/[DYA]/g, (letter) => letter.toLowerCase())

const sample = DateTime.utc(2026, 11, 21)

/** Returns the format for luxon; undefined if it lacks the day, month or year, or has a letter in two places. */
export function dateFormatOf(given: string): string | undefined {
  const format = luxonFormat(given)
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
