import { zoneNamed, type ZoneClock } from './zones.ts'

/** `day` for 21/11/2026, `month` for 11/21/2026. */
export type First = 'day' | 'month'

interface Day {
  year: number
  month: number
  day: number
}

/** The time at the end of a text. */
export interface Clock {
  /** The offset of the time in the text. */
  index: number
  /** Of the day. */
  ms: number
  /** The offset from UTC, an IANA time zone, or undefined without a zone. Null for an unknown zone. */
  zone: number | string | undefined | null
}

const hourMs = 3_600_000
const time =
  /(?:T|,?\s+(?:at\s+)?)(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(?:\s*([ap])\.?\s?m\.?)?\s*(Z\b|(?:GMT|UTC)?[+-]\d{1,2}(?::?\d{2})?|[A-Z]+\/[A-Z_/]+|[A-Z]{2,5})?(?:\s*(?:\(([^()]*(?:\([^()]*\)[^()]*)*)\)|\[[^\][]*\]))?$/i

/** Returns undefined if the text does not end with a time. */
export function clockIn(text: string): Clock | undefined {
  const match = time.exec(text)
  if (!match) return undefined
  const [, hours, minutes, seconds = '0', fraction = '', half, offset, inParentheses] = match
  let hour = Number(hours)
  if (half && (hour < 1 || hour > 12)) return undefined
  if (half) hour = (hour % 12) + (half.toLowerCase() === 'p' ? 12 : 0)
  if (hour > 23 || Number(minutes) > 59 || Number(seconds) > 59) return undefined
  const milliseconds = Number(fraction.padEnd(3, '0').slice(0, 3))
  const ms = hour * hourMs + Number(minutes) * 60_000 + Number(seconds) * 1_000 + milliseconds
  const zone = offset ?? inParentheses
  return { index: match.index, ms, zone: zone === undefined ? undefined : zoneIn(zone) }
}

/** Abbreviations that only one time zone of the world has, or that are usual for one. In hours from UTC. */
const abbreviations = new Map(
  `Z 0,UTC 0,GMT 0,WET 0,WEST 1,CET 1,MEZ 1,CEST 2,MESZ 2,EET 2,EEST 3,MSK 3,JST 9,KST 9,AEST 10,AEDT 11,NZST 12,NZDT 13,
  EST -5,EDT -4,CDT -5,MST -7,MDT -6,PST -8,PDT -7,AKST -9,AKDT -8,HST -10`
    .split(/,\s*/)
    .map((pair) => pair.split(' ') as [string, string]),
)

function zoneIn(text: string): number | string | null {
  const [, sign, hours, minutes = '0'] = /^(?:GMT|UTC)?\s*([+-])(\d{1,2}):?(\d{2})?$/i.exec(text.trim()) ?? []
  if (sign) return (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === '-' ? -1 : 1)
  const known = abbreviations.get(text.trim().toUpperCase())
  if (known !== undefined) return Number(known) * hourMs
  return text.includes('/') ? (zoneNamed(text.trim()) ?? null) : null
}

/** Returns an ISO 8601 time in UTC; undefined for an unknown zone. @param clockOf returns the clock of a time zone */
export function instantOf(
  { year, month, day }: Day,
  { ms, zone }: Clock,
  clockOf: (zone?: string) => ZoneClock,
): string | undefined {
  if (zone === null) return undefined
  const local = Date.UTC(year, month - 1, day) + ms
  const offset = typeof zone === 'number' ? zone : clockOf(zone).offsetMs(local)
  return new Date(local - offset).toISOString()
}

const maxCharacters = 80
/** A weekday may be before the numbers. */
const numbers = /^(?:\p{L}{2,10}\.?,? )?(\d{1,4})([-/.])(\d{1,2})\2(\d{1,4})$/u
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
  const composed = text.normalize()
  const [, day, name, year] = dayFirst.exec(composed) ?? []
  if (day) return named(name!, day, year!)
  const [, month, dayAfter, yearAfter] = monthFirst.exec(composed) ?? []
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

/** In English, Spanish, German, French, Portuguese, Italian, Dutch and Polish, without accents. */
const languages = [
  'january february march april may june july august september october november december',
  'enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre',
  'januar februar marz april mai juni juli august september oktober november dezember',
  'janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre',
  'janeiro fevereiro marco abril maio junho julho agosto setembro outubro novembro dezembro',
  'gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre',
  'styczen luty marzec kwiecien maj czerwiec lipiec sierpien wrzesien pazdziernik listopad grudzien',
  'stycznia lutego marca kwietnia maja czerwca lipca sierpnia wrzesnia pazdziernika listopada grudnia',
  'januari februari maart april mei juni juli augustus september oktober november december',
]
const minCharacters = 3

/** The months by their names and prefixes. Null: an ambiguous prefix. */
const months = new Map<string, number | null>([['mrt', 3]])
for (const names of languages)
  for (const [index, name] of names.split(' ').entries())
    for (let end = minCharacters; end <= name.length; end++) {
      const start = name.slice(0, end)
      const known = months.get(start)
      months.set(start, known === undefined || known === index + 1 ? index + 1 : null)
    }

/** Returns the month, from 1, that a name such as `Nov`, `noviembre` or `févr` means. */
const monthNamed = (name: string): number | undefined =>
  months.get(name.toLowerCase()) ??
  months.get(name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()) ??
  undefined
