import { Type } from '@sinclair/typebox'
import type { FieldRow, TaskRow } from '../../drizzle/rows.ts'
import { checked, isText, parseInstant, unstorableIn } from '../../src/schema/input.ts'
import { invalid } from '../../src/responses/errors.ts'

export type FieldValue = string | number | boolean
type StoredValues = NonNullable<TaskRow['fields']>
type StoredValue = StoredValues[string]

/** The maximum number of values of a task, and the maximum number of characters of these values as JSON. */
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

export const FieldValuesOutput = Type.Unsafe<Record<string, FieldValue>>({
  type: 'object',
  additionalProperties: { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }] },
  description: "Values by the keys of the project's fields",
  examples: [{ estimate: 3 }],
})

const isDate = (value: unknown) =>
  typeof value === 'string' && /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(value) && parseInstant(value) !== null
const partOf = (value: unknown, name: 'date' | 'choice') =>
  isObject(value) ? (value as Record<string, unknown>)[name] : undefined

/** Returns the option that equals the text. The text may have another Unicode form, such as NFD in file names of macOS. */
export function optionNamed(options: string[] | null, text: unknown): string | undefined {
  if (typeof text !== 'string') return undefined
  const wanted = text.normalize()
  return options?.find((one) => one === text) ?? options?.find((one) => one.normalize() === wanted)
}

type OptionField = Pick<FieldRow, 'type' | 'options'>

interface FieldType {
  /** True for a value in the stored form. Other values belong to deleted fields and removed options. */
  fits(value: unknown, field: FieldRow): boolean
  accepts(value: unknown, field: OptionField): boolean
  store?(value: string, field: OptionField): StoredValue
  expected: string
}
const isBoolean = (value: unknown) => typeof value === 'boolean'
const types: Record<FieldRow['type'], FieldType> = {
  text: {
    fits: (value) => typeof value === 'string',
    accepts: (value) => isText(value, { minLength: 0, maxLength: maxTextCharacters }),
    expected: `a text of at most ${maxTextCharacters} characters`,
  },
  number: { fits: Number.isFinite, accepts: Number.isFinite, expected: 'a number' },
  boolean: { fits: isBoolean, accepts: isBoolean, expected: 'true or false' },
  date: {
    fits: (value) => partOf(value, 'date') !== undefined,
    accepts: isDate,
    store: (date) => ({ date }),
    expected: 'a date: YYYY-MM-DD',
  },
  choice: {
    fits: (value, { options }) => options!.includes(partOf(value, 'choice') as string),
    accepts: (value, { options }) => optionNamed(options, value) !== undefined,
    store: (value, { options }) => ({ choice: optionNamed(options, value)! }),
    expected: 'one of the options of the field',
  },
}

const unknownFieldKey = (key: string) =>
  invalid(`fields.${key.slice(0, 100)}`, 'must be the key of a field of the project')
const invalidValue = (name: string, type: FieldRow['type'], value?: unknown) =>
  invalid(name, `must be ${types[type].expected}${unstorableIn(value)}`)
const valuesTooLong = () => invalid('fields', `must have at most ${maxValueCharacters} characters as JSON`)

export const acceptsValue = (field: OptionField, value: unknown): boolean =>
  types[field.type].accepts(value, field)

/** Returns the form in which a task stores a value. @param name of the value in errors @throws HttpError 400 */
export function storedForm(field: OptionField, value: unknown, name: string): StoredValue {
  if (!acceptsValue(field, value)) throw invalidValue(name, field.type, value)
  return types[field.type].store?.(value as string, field) ?? (value as FieldValue)
}

/** True if responses show the value. The same as `fitsSql`. */
export const fitsField = (field: FieldRow, value: unknown): boolean => types[field.type].fits(value, field)

/** SQL that is true if field `r` shows the value `x.value`. */
export const fitsSql = `case r.type
  when 'date' then x.value -> 'date' is not null
  when 'choice' then r.options @> (x.value -> 'choice')
  when 'text' then jsonb_typeof(x.value) = 'string'
  else jsonb_typeof(x.value) = r.type end`

/** The values as responses show them. */
export const shownFields = (stored: StoredValues): Record<string, FieldValue> =>
  Object.fromEntries(
    Object.entries(stored).map(([key, value]) => [
      key,
      typeof value === 'object' ? ((partOf(value, 'date') ?? partOf(value, 'choice')) as string) : value,
    ]),
  )

/** Returns the value in the stored form; undefined for an empty text. @throws HttpError 400 */
function storedValue(field: FieldRow, given: unknown): StoredValue | undefined {
  const value = typeof given === 'string' ? given.trim() : given
  const stored = storedForm(field, value, `fields.${field.key}`)
  // JSON has no -0.
  return stored === '' ? undefined : stored === 0 ? 0 : stored
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
  stored: StoredValues | null | undefined,
  changes: Record<string, unknown>,
): StoredValues | null {
  const fields = new Map(state.all('field').map((field) => [field.key, field]))
  const values = new Map<string, StoredValue>(Object.entries(stored ?? {}))
  for (const [key, given] of Object.entries(changes)) {
    const field = fields.get(key)
    if (!field) throw unknownFieldKey(key)
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

const isTooMuch = (values: Map<string, StoredValue>) =>
  values.size > maxValues || JSON.stringify(Object.fromEntries(values)).length > maxValueCharacters

/** Responses before and after a read from Postgres must be equal byte by byte, because they have the same ETag. */
const inJsonbOrder = (values: Map<string, StoredValue>): StoredValues =>
  Object.fromEntries([...values].sort(([a], [b]) => a.length - b.length || (a < b ? -1 : 1)))
