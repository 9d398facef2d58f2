import { Kind, type TSchema, Type, TypeRegistry } from '@sinclair/typebox'
import { type Bounds, hasLength } from './length.ts'
import { named } from './named.ts'

/** True for a whole number as a URL or a header writes it: a seq, a version or a count. */
export const isCount = (value: unknown): value is string =>
  typeof value === 'string' && /^\d{1,15}$/.test(value)

/** What nobody sees: blanks, control and format characters, what is ignored when drawn, and a Braille cell without a dot. */
const unseen = '\\p{Z}\\p{Cc}\\p{Cf}\\p{Default_Ignorable_Code_Point}\\u2800'
const [SEEN, UNSEEN] = [new RegExp(`[^${unseen}]`, 'u'), new RegExp(`[${unseen}]`, 'u')]

/** No U+0000 (Postgres cannot store it), no half of a surrogate pair. */
const isStorable = (value: unknown): value is string =>
  typeof value === 'string' && !value.includes('\0') && value.isWellFormed()

/** Where it must not be empty there is something to be seen. */
TypeRegistry.Set<Bounds>('DocketText', (bounds, value) => {
  if (!isStorable(value) || !hasLength(value.trim(), bounds)) return false
  return bounds.minLength === 0 || SEEN.test(value)
})

/** A text of `min` to `max` characters once trimmed; commands store it trimmed. */
export const Text = (min: number, max: number, example: string) =>
  Type.Unsafe<string>({
    [Kind]: 'DocketText',
    type: 'string',
    minLength: min,
    maxLength: max,
    pattern: min > 0 ? '^\\s*[^\\s\\x00][^\\x00]*$' : '^[^\\x00]*$',
    description: `A text of ${min} to ${max} characters`,
    examples: [example],
  })

/** Control characters, and those that show a text in another order than it is stored in (embeddings, overrides, isolates). */
const unfit = '\\x00-\\x1f\\x7f-\\x9f\\u202a-\\u202e\\u2066-\\u2069'
const UNFIT = new RegExp(`[${unfit}]`)

TypeRegistry.Set<Bounds>('DocketName', (bounds, value) => {
  if (!isStorable(value)) return false
  const name = value.trim()
  return hasLength(name, bounds) && SEEN.test(name) && !UNFIT.test(name)
})

/** A name or title of up to `max` characters once trimmed: it shows on one line what it is. */
export const Name = (max: number, example: string) => ({
  ...Text(1, max, example),
  [Kind]: 'DocketName',
  pattern: `^\\s*[^\\s${unfit}][^${unfit}]*\\s*$`,
  description: `A text of 1 to ${max} characters, without control or bidirectional-override characters`,
})

TypeRegistry.Set<Bounds>('DocketSecret', (bounds, value) => isStorable(value) && hasLength(value, bounds))

/** A text that is kept as it is sent, blanks and all. */
export const Secret = (min: number, max: number, description: string, example: string) =>
  Type.Unsafe<string>({
    [Kind]: 'DocketSecret',
    type: 'string',
    format: 'password',
    minLength: min,
    maxLength: max,
    pattern: '^[^\\x00]*$',
    description,
    examples: [example],
  })

TypeRegistry.Set<Bounds>(
  'DocketWords',
  (bounds, value) => typeof value === 'string' && hasLength(value, bounds),
)

/** Any text of at most `max` characters. */
export const Words = (max: number, description: string, example: string) =>
  Type.Unsafe<string>({
    [Kind]: 'DocketWords',
    type: 'string',
    maxLength: max,
    description,
    examples: [example],
  })

const EMAIL = /^[^\s@"<>(),:;\\[\]]+@[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+$/i
/** With what is not seen two addresses would look the same. */
TypeRegistry.Set('DocketEmail', (_schema, value) => {
  if (typeof value !== 'string') return false
  const email = value.trim()
  return (
    hasLength(email, { maxLength: 254 }) && email.isWellFormed() && !UNSEEN.test(email) && EMAIL.test(email)
  )
})

/** An email address, at most 254 characters; compared and stored in lower case, with letters and their marks composed. */
export const Email = (example = 'ada@example.com') =>
  Type.Unsafe<string>({
    [Kind]: 'DocketEmail',
    type: 'string',
    format: 'email',
    maxLength: 254,
    description: 'An email address of at most 254 characters',
    examples: [example],
  })

export const normalEmail = (email: string): string => email.trim().toLowerCase().normalize('NFC')

const INSTANT =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?([Zz]|[+-]\d{2}:?\d{2}))?$/

/** The instant an ISO 8601 date-time with offset, or a date (midnight UTC), names, as this API writes it; or null. */
export function parseInstant(text: string): string | null {
  const match = INSTANT.exec(text)
  if (!match) return null
  const [, year, month, day, hour = '00', minute = '00', second = '00', fraction = '0', offset = 'Z'] = match
  const calendar = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)))
  calendar.setUTCFullYear(Number(year))
  if (calendar.getUTCMonth() !== Number(month) - 1 || calendar.getUTCDate() !== Number(day)) return null
  const ms = fraction.slice(0, 3).padEnd(3, '0')
  const zone = offset.toUpperCase().replace(/^([+-]\d{2})(\d{2})$/, '$1:$2')
  const time = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}${zone}`)
  if (Number.isNaN(time)) return null
  const instant = new Date(time).toISOString()
  return /^[0-9]{4}-/.test(instant) && !instant.startsWith('0000') ? instant : null
}

TypeRegistry.Set(
  'DocketInstant',
  (_schema, value) => typeof value === 'string' && parseInstant(value) !== null,
)

/** A point in time, read by parseInstant. */
export const Instant = () =>
  Type.Unsafe<string>({
    [Kind]: 'DocketInstant',
    type: 'string',
    format: 'date-time',
    description: 'An ISO 8601 date-time with offset, or a date (midnight UTC)',
    examples: ['2027-01-31T17:00:00.000Z'],
  })

TypeRegistry.Set<{ enum: readonly unknown[] }>('DocketChoice', (schema, value) => schema.enum.includes(value))

/** One of a closed list, which has a name; `about` says what one of them means. */
export const OneOf = <const T extends readonly string[]>(name: string, values: T, about?: string) =>
  named(
    name,
    Type.Unsafe<T[number]>({
      [Kind]: 'DocketChoice',
      type: 'string',
      enum: [...values],
      description: `One of ${values.join(', ')}${about ? `: ${about}` : ''}`,
    }),
  )

/** The schema, or null to clear the field. */
/** At the end of the description of what may be null. */
export const orNull = ', or null'

export const Nullable = <T extends TSchema>(schema: T) =>
  Type.Union([schema, Type.Null()], { description: (schema.description ?? 'A value') + orNull })

/** What to store for an optional text: trimmed, an empty one is none; undefined stays undefined ("keep"). */
export const optionalText = (text: string | null | undefined): string | null | undefined =>
  typeof text === 'string' ? text.trim() || null : text
