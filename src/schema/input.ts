import { Kind, type TObject, type TProperties, type TSchema, Type, TypeRegistry } from '@sinclair/typebox'
import { isIdInAnyCase } from '../id-format.ts'
import { Id, sampleId, named } from './response.ts'

const checkKey = Symbol('check')

TypeRegistry.Set<{ [checkKey]: (value: unknown, schema: object) => boolean }>('Checked', (schema, value) =>
  schema[checkKey](value, schema),
)

/** Returns a schema that only `check` validates. The OpenAPI document contains the fields of `schema`. */
export const checked = <T>(check: (value: unknown, schema: never) => boolean, schema: object) =>
  Type.Unsafe<T>({ ...schema, [Kind]: 'Checked', [checkKey]: check })

export const checkOf = (schema: TSchema): unknown =>
  checkKey in schema ? schema[checkKey as never] : undefined

/** Unknown fields are rejected, so that a misspelt field is not ignored. */
export const Input = <T extends TProperties>(properties: T) =>
  Type.Object(properties, { additionalProperties: false })

// A malformed id is accepted: the look-up does not find it and responds with 404.
const isIdText = (value: unknown) => typeof value === 'string' && value.length <= 100

export const IdOf = (noun: string) => checked<string>(isIdText, Id(`The id of a ${noun}`))

const isAccount = (value: unknown) => value === 'me' || isIdInAnyCase(value)

/** An account whose events are left out. */
export const ExceptActor = () =>
  checked<string>(isAccount, {
    type: 'string',
    description: 'The id of an account, or `me`: leaves out the events of this account',
    examples: ['me'],
  })

const UUIDv7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i
const isOwnId = (value: unknown) => typeof value === 'string' && UUIDv7.test(value)

export function OwnId() {
  const description = 'A new UUIDv7 chosen by the client; without it the service generates one'
  return Type.Optional(checked<string>(isOwnId, Id(description)))
}

function isIdList(value: unknown, { maxItems }: { maxItems: number }): boolean {
  const isList = Array.isArray(value) && value.length <= maxItems && value.every(isIdText)
  return isList && new Set(value).size === value.length
}

export const IdsOf = (noun: string, maxItems: number) =>
  checked<string[]>(isIdList, {
    type: 'array',
    maxItems,
    uniqueItems: true,
    items: { type: 'string', format: 'uuid' },
    description: `A list of at most ${maxItems} ids of ${noun}, without duplicates`,
    examples: [[sampleId]],
  })

export function ListOf<T>(items: TSchema, fits: (one: T) => boolean, maxItems: number, texts: object) {
  const check = (value: unknown) =>
    Array.isArray(value) && value.length >= 1 && value.length <= maxItems && value.every(fits)
  return checked<T[]>(check, { type: 'array', minItems: 1, maxItems, items, ...texts })
}

export const isOwnIdSchema = (schema: TSchema): boolean => checkOf(schema) === isOwnId

export const isIdSchema = (schema: TSchema): boolean =>
  [isIdText, isIdList, isOwnId].some((check) => checkOf(schema) === check) ||
  (schema.anyOf ?? []).some(isIdSchema)

export function mapIds(value: unknown, replace: (id: string) => unknown): unknown {
  if (Array.isArray(value)) return value.map(replace)
  return typeof value === 'string' ? replace(value) : value
}

/** A JSON body that ignores other fields of the resource, so that a client can send back a resource as received. */
export function Body<T extends TProperties>(properties: T, { properties: shown }: TObject) {
  const readOnlyNames = Object.keys(shown).filter((name) => !(name in properties))
  const readOnly = (name: string) => ({
    readOnly: true,
    description: shown[name]!.description ?? 'Read only',
  })
  const ignored = readOnlyNames.map((name) => [name, Type.Optional(Type.Unknown(readOnly(name)))])
  const description = `Read-only fields are ignored: ${readOnlyNames.join(', ')}`
  return Type.Object<T>(
    { ...properties, ...Object.fromEntries(ignored) },
    { additionalProperties: false, ...(readOnlyNames.length && { description }) },
  )
}

/** The maximum of a version or a seq. */
export const maxSeq = 999_999_999_999_999

/** @param meaning continues the description, such as "how many seconds to wait" */
export function WholeNumber(minimum: number, maximum: number, meaning: string, example: number) {
  const range = maximum === maxSeq ? `from ${minimum}` : `from ${minimum} to ${maximum}`
  const description = `A whole number ${range}: ${meaning}`
  return Type.Integer({ minimum, maximum, description, examples: [example] })
}

/** True for a non-negative integer in decimal digits. */
export const isCount = (value: unknown): value is string =>
  typeof value === 'string' && /^\d{1,15}$/.test(value)

interface Bounds {
  minLength?: number
  maxLength: number
}

/** Compares the length in code points, as JSON Schema does. Usually the length in UTF-16 units already decides. */
export function hasLength(text: string, { minLength = 0, maxLength }: Bounds): boolean {
  const units = text.length
  if (units >= 2 * minLength && units <= maxLength) return true
  if (units < minLength || units > 2 * maxLength) return false
  let characters = 0
  for (const _ of text) characters += 1
  return characters >= minLength && characters <= maxLength
}

/** Spaces, control and format characters, characters that have no glyph, and the empty Braille cell. */
const invisible = '\\p{Z}\\p{Cc}\\p{Cf}\\p{Default_Ignorable_Code_Point}\\u2800'
const [VISIBLE, INVISIBLE] = [new RegExp(`[^${invisible}]`, 'u'), new RegExp(`[${invisible}]`, 'u')]

/** True for a text without U+0000, which Postgres cannot store, and without lone surrogates. */
const isStorable = (value: unknown): value is string =>
  typeof value === 'string' && !value.includes('\0') && value.isWellFormed()

/** Names a character that cannot be stored; an empty text if there is none. */
export function unstorableIn(text: unknown): string {
  if (typeof text !== 'string') return ''
  if (text.includes('\0')) return ', but contains U+0000'
  return text.isWellFormed() ? '' : ', but contains a lone surrogate'
}

export function isText(value: unknown, bounds: Bounds): value is string {
  if (!isStorable(value) || !hasLength(value.trim(), bounds)) return false
  return bounds.minLength === 0 || VISIBLE.test(value)
}

const textOf = (min: number, max: number, example: string) => ({
  type: 'string',
  minLength: min,
  maxLength: max,
  pattern: min > 0 ? '^\\s*[^\\s\\x00][^\\x00]*$' : '^[^\\x00]*$',
  description: `A text of ${min} to ${max} characters`,
  examples: [example],
})

/** A text of `min` to `max` characters after trimming. Commands store it trimmed. */
export const Text = (min: number, max: number, example: string) =>
  checked<string>(isText, textOf(min, max, example))

/** Control characters, and bidirectional embeddings, overrides and isolates, which change the displayed order. */
const forbiddenInNames = '\\x00-\\x1f\\x7f-\\x9f\\u202a-\\u202e\\u2066-\\u2069'
const FORBIDDEN_IN_NAMES = new RegExp(`[${forbiddenInNames}]`)
export const isNameText = (value: unknown, bounds: Bounds): boolean =>
  isText(value, bounds) && !FORBIDDEN_IN_NAMES.test((value as string).trim())

const EACH_FORBIDDEN_IN_NAMES = new RegExp(`[${forbiddenInNames}]+`, 'g')
/** Replaces the characters that names must not contain by spaces, and trims the name. */
export const nameFrom = (text: string): string => text.replace(EACH_FORBIDDEN_IN_NAMES, ' ').trim()

export const Name = (max: number, example: string) =>
  checked<string>(isNameText, {
    ...textOf(1, max, example),
    pattern: `^\\s*[^\\s${forbiddenInNames}][^${forbiddenInNames}]*\\s*$`,
    description: `A text of 1 to ${max} characters, without control or bidirectional-override characters`,
  })

/** True for the schema of a name, which has one line and no control characters. */
export const isNameSchema = (schema: TSchema): boolean => checkOf(schema) === isNameText

const isSecret = (value: unknown, bounds: Bounds) => isStorable(value) && hasLength(value, bounds)

/** A text that is not trimmed, such as a password. */
export const Secret = (min: number, max: number, description: string, example: string) =>
  checked<string>(isSecret, {
    ...{ type: 'string', format: 'password' },
    ...textOf(0, max, example),
    ...{ minLength: min, description },
  })

const isWords = (value: unknown, bounds: Bounds) => typeof value === 'string' && hasLength(value, bounds)

export const AnyText = (max: number, description: string, example: string) =>
  checked<string>(isWords, { type: 'string', maxLength: max, description, examples: [example] })

const EMAIL = /^[^\s@"<>(),:;\\[\]]+@[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+$/i
/** Rejects invisible characters, because two different addresses could look the same. */
function isEmail(value: unknown): boolean {
  if (typeof value !== 'string') return false
  const email = value.trim()
  const isText = hasLength(email, { maxLength: 254 }) && email.isWellFormed() && !INVISIBLE.test(email)
  return isText && EMAIL.test(email)
}

/** An email address of at most 254 characters. Commands store the form that `normalEmail` returns. */
export const Email = (example = 'ada@example.com') =>
  checked<string>(isEmail, {
    type: 'string',
    format: 'email',
    maxLength: 254,
    description: 'An email address of at most 254 characters',
    examples: [example],
  })

export const normalEmail = (email: string): string => email.trim().toLowerCase().normalize('NFC')

const INSTANT =
  /^(\d{4}-\d{2}-\d{2})(?:[Tt ](\d{2}:\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?([Zz]|[+-]\d{2}:?\d{2}))?$/

/** Converts an ISO 8601 date-time with offset, or a date (midnight UTC), to UTC with milliseconds; null if invalid. */
export function parseInstant(text: string): string | null {
  const match = INSTANT.exec(text)
  if (!match) return null
  const [, date = '', minutes = '00:00', second = '00', fraction = '0', offset = 'Z'] = match
  // Some engines parse February 30 as a day in March.
  if (!isoOf(Date.parse(`${date}T00:00:00Z`))?.startsWith(date)) return null
  const ms = fraction.slice(0, 3).padEnd(3, '0')
  const zone = offset.toUpperCase().replace(/^([+-]\d{2})(\d{2})$/, '$1:$2')
  const instant = isoOf(Date.parse(`${date}T${minutes}:${second}.${ms}${zone}`))
  return instant && /^[0-9]{4}-/.test(instant) && !instant.startsWith('0000') ? instant : null
}

const isoOf = (ms: number): string | null => (Number.isNaN(ms) ? null : new Date(ms).toISOString())

const isInstant = (value: unknown) => typeof value === 'string' && parseInstant(value) !== null

export const Instant = () =>
  checked<string>(isInstant, {
    type: 'string',
    format: 'date-time',
    description: 'An ISO 8601 date-time with offset, or a date (midnight UTC)',
    examples: ['2027-01-31T17:00:00.000Z'],
  })

const isChoice = (value: unknown, schema: { enum: unknown[] }) => schema.enum.includes(value)

export const OneOf = <const T extends readonly string[]>(name: string, values: T, about = '') => {
  const description = `One of ${values.join(', ')}${about && `: ${about}`}`
  return named(name, checked<T[number]>(isChoice, { type: 'string', enum: [...values], description }))
}

/** Adds an alternative to the description of a value. An explanation after a colon remains at the end. */
export function orElse(description: string, alternative: string): string {
  const [value, ...explanation] = description.split(': ')
  return [`${value}, or ${alternative}`, ...explanation].join(': ')
}

/** Also accepts null, which clears the field. */
export const Nullable = <T extends TSchema>(schema: T) =>
  Type.Union([schema, Type.Null()], { description: orElse(schema.description ?? 'A value', 'null') })

/** Returns the schema of values other than null. */
export function withoutNull(schema: TSchema): TSchema {
  const [only, ...others] = ((schema.anyOf ?? []) as TSchema[]).filter(({ type }) => type !== 'null')
  return only && others.length === 0 ? only : schema
}

/** Two names look the same if these texts are equal: programs write `ü`, `Ⅳ` and spaces in several ways. */
export const visualForm = (name: string): string => name.normalize('NFKC').trim()

/** Two names are the same without regard to case if these texts are equal. */
export const caseless = (name: string): string => name.normalize('NFC').toLowerCase()

export const optionalText = (text: string | null | undefined): string | null | undefined =>
  typeof text === 'string' ? text.trim() || null : text
