import { clockIn, type Day } from './clock.ts'
import { monthNamed } from './months.ts'

/** `day` for 21/11/2026, `month` for 11/21/2026. */
export type First = 'day' | 'month'

const maxCharacters = 80
const numbers = /^(\d{1,4})([-/.])(\d{1,2})\2(\d{1,4})$/
const dayFirst =
  /^(?:\p{L}{2,10},? )?(\d{1,2})(?:st|nd|rd|th)?[ /.-]+(?:de )?(\p{L}{3,10})\.?,?[ /.-]+(?:de )?(\d{2,4})$/iu
const monthFirst = /^(?:\p{L}{2,10},? )?(\p{L}{3,10})\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})$/iu

/** Whether day or month is first. `certain`: a number above 12 shows it. `usual`: the separator also shows it. */
interface Order {
  certain?: First
  usual?: First
  separator?: string
}

export function orderOf(text: string): Order {
  if (text.length > maxCharacters) return {}
  const date = text.slice(0, clockIn(text)?.index)
  const [, one = '', separator, two = ''] = numbers.exec(date) ?? []
  if (one === '' || one.length > 2) return {}
  const certain = Number(one) > 12 ? 'day' : Number(two) > 12 ? 'month' : undefined
  const usual = certain ?? (separator === '.' ? 'day' : undefined)
  return { ...(certain && { certain }), ...(usual && { usual }), separator }
}

/** Reads a date without a time. */
export function dayOf(text: string, first: First | undefined): Day | undefined {
  const numeric = numbers.exec(text)
  if (numeric) return numericDay(numeric, first)
  const [, day, name, year] = dayFirst.exec(text) ?? []
  if (day) return named(name!, day, year!)
  const [, month, dayAfter, yearAfter] = monthFirst.exec(text) ?? []
  return month ? named(month, dayAfter!, yearAfter!) : undefined
}

function numericDay(numeric: RegExpExecArray, given?: First): Day | undefined {
  const [text, one = '', , two = '', three = ''] = numeric
  if (one.length === 4) return { year: Number(one), month: Number(two), day: Number(three) }
  if (one.length === 3 || three.length === 1 || three.length === 3) return undefined
  const { certain, usual } = orderOf(text)
  const first = certain ?? (one === two ? 'day' : given) ?? usual
  if (!first) return undefined
  const [day, month] = first === 'day' ? [one, two] : [two, one]
  return { year: fullYear(three), month: Number(month), day: Number(day) }
}

function named(name: string, day: string, year: string): Day | undefined {
  const month = monthNamed(name)
  return month === undefined ? undefined : { year: fullYear(year), month, day: Number(day) }
}

const fullYear = (year: string): number =>
  year.length > 2 ? Number(year) : Number(year) + (Number(year) < 70 ? 2000 : 1900)

export function isDay({ year, month, day }: Day): boolean {
  const date = new Date(Date.UTC(year, month - 1, day))
  return year >= 1000 && date.getUTCMonth() === month - 1 && date.getUTCDate() === day
}

export const isoDay = ({ year, month, day }: Day): string =>
  `${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`
