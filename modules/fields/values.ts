import { Type } from '@sinclair/typebox'
import type { FieldRow } from '../../drizzle/rows.ts'
import { checked } from '../../src/schema/input.ts'
import { isText, parseInstant } from '../../src/schema/text.ts'
import { badRequest } from '../../src/responses/errors.ts'

export type FieldValue = string | number | boolean
export type FieldValues = Record<string, FieldValue>

/** The most values of a task, and the most characters of these values as JSON. */
export const maxValues = 50
export const maxValueCharacters = 20_000
const maxTextCharacters = 2_000

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isChange = (value: unknown) => isObject(value) && Object.keys(value).length <= maxValues

/** The schema of `fields` in requests. The rules check the values, because each project has its own fields. */
export const FieldValuesInput = checked<Record<string, FieldValue | null>>(isChange, {
  type: 'object',
  maxProperties: maxValues,
  additionalProperties: { type: ['string', 'number', 'boolean', 'null'] },
  description: `An object with at most ${maxValues} values: by the keys of the project's fields. Absent keys do not change; null removes a value`,
  examples: [{}],
})

export const FieldValuesOutput = Type.Unsafe<FieldValues>({
  type: 'object',
  additionalProperties: { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }] },
  description: "Values by the keys of the project's fields",
  examples: [{ estimate: 3 }],
})

const DATE = /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/
const isDate = (value: unknown) =>
  typeof value === 'string' && DATE.test(value) && parseInstant(value) !== null
const isChoice = ({ options }: FieldRow, value: unknown) => options!.includes(value as string)

interface FieldType {
  /** The form of stored values. A value of another form belongs to a deleted field, or to a removed option. */
  fits(value: unknown, field: FieldRow): boolean
  accepts?(value: unknown): boolean
  expected: string
}
const types: Record<FieldRow['type'], FieldType> = {
  text: {
    fits: (value) => typeof value === 'string',
    accepts: (value) => isText(value, { minLength: 0, maxLength: maxTextCharacters }),
    expected: `a text of at most ${maxTextCharacters} characters`,
  },
  number: { fits: Number.isFinite, expected: 'a number' },
  boolean: { fits: (value) => typeof value === 'boolean', expected: 'true or false' },
  date: {
    fits: (value) => typeof value === 'string' && DATE.test(value),
    accepts: isDate,
    expected: 'a date: YYYY-MM-DD',
  },
  choice: { fits: (value, field) => isChoice(field, value), expected: 'one of the options of the field' },
}

export const unknownField = (key: string) =>
  badRequest(`fields.${key.slice(0, 100)} must be the key of a field of the project`)
export const invalidValue = (key: string, type: FieldRow['type']) =>
  badRequest(`fields.${key} must be ${types[type].expected}`)
export const valuesTooLong = () =>
  badRequest(`fields must have at most ${maxValueCharacters} characters as JSON`)

/** True if responses show the value. The same as `fitsSql`. */
export const fitsField = (field: FieldRow, value: unknown): boolean => types[field.type].fits(value, field)

/** SQL that is true if field `r` shows the value `x.value`. */
export const fitsSql = `case r.type
  when 'date' then x.value #>> '{}' ~ '${DATE.source}'
  when 'choice' then r.options @> x.value
  when 'text' then jsonb_typeof(x.value) = 'string'
  else jsonb_typeof(x.value) = r.type end`

/** Returns the value as it is stored; undefined for an empty text. @throws HttpError 400 */
function storedValue(field: FieldRow, given: unknown): FieldValue | undefined {
  const { key, type } = field
  const value = typeof given === 'string' ? given.trim() : given
  const { fits, accepts = (one: unknown) => fits(one, field) } = types[type]
  if (!accepts(value)) throw invalidValue(key, type)
  // JSON has no -0.
  return value === '' ? undefined : value === 0 ? 0 : (value as FieldValue)
}

interface FieldSource {
  all(entity: 'field'): FieldRow[]
}

/**
 * Returns the values after a change, with the values of deleted fields, in the order of jsonb; null if there are none.
 * @throws HttpError 400
 */
export function changedValues(
  state: FieldSource,
  stored: FieldValues | null | undefined,
  changes: Record<string, unknown>,
): FieldValues | null {
  const fields = new Map(state.all('field').map((field) => [field.key, field]))
  const values = new Map<string, FieldValue>(Object.entries(stored ?? {}))
  for (const [key, given] of Object.entries(changes)) {
    const field = fields.get(key)
    if (!field) throw unknownField(key)
    const value = given === null ? undefined : storedValue(field, given)
    if (value === undefined) values.delete(key)
    else values.set(key, value)
  }
  if (isTooMuch(values))
    for (const [key, value] of values)
      if (!fields.has(key) || !fitsField(fields.get(key)!, value)) values.delete(key)
  if (isTooMuch(values)) throw valuesTooLong()
  return values.size === 0 ? null : inJsonbOrder(values)
}

const isTooMuch = (values: Map<string, FieldValue>) =>
  values.size > maxValues || JSON.stringify(Object.fromEntries(values)).length > maxValueCharacters

/** Responses before and after a read from Postgres must be equal byte by byte, because they have the same ETag. */
const inJsonbOrder = (values: Map<string, FieldValue>): FieldValues =>
  Object.fromEntries([...values].sort(([a], [b]) => a.length - b.length || (a < b ? -1 : 1)))
