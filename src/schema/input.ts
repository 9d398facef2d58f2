import { Kind, type TObject, type TProperties, type TSchema, Type, TypeRegistry } from '@sinclair/typebox'
import { sampleId } from './response.ts'

const own = Symbol('check')

TypeRegistry.Set<{ [own]: (value: unknown, schema: object) => boolean }>('Checked', (schema, value) =>
  schema[own](value, schema),
)

/** A schema with a check of its own, which gets the schema to compare with. The document shows the schema. */
export const checked = <T>(check: (value: unknown, schema: never) => boolean, schema: object) =>
  Type.Unsafe<T>({ [Kind]: 'Checked', [own]: check, ...schema })

/** The check of such a schema. */
const checkOf = (schema: TSchema): unknown => (own in schema ? schema[own as never] : undefined)

/** A command's input, or a query: unknown fields are rejected, because a misspelt one must not be lost. */
export const Input = <T extends TProperties>(properties: T) =>
  Type.Object(properties, { additionalProperties: false })

// A malformed id names nothing, so the look-up answers 404.
const isIdText = (value: unknown) => typeof value === 'string' && value.length <= 100

/** An id that a command names, as a path or a body gives it. */
export const IdOf = (what: string) =>
  checked<string>(isIdText, {
    type: 'string',
    format: 'uuid',
    description: `The id of a ${what}`,
    examples: [sampleId],
  })

const UUIDv7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i
const isOwnId = (value: unknown) => typeof value === 'string' && UUIDv7.test(value)

/** An id that the client makes for what it creates. */
export const OwnId = () =>
  Type.Optional(
    checked<string>(isOwnId, {
      type: 'string',
      format: 'uuid',
      description: 'A UUIDv7 that nothing has or had: made by the client, else one is made here',
      examples: [sampleId],
    }),
  )

const maxIds = 100
function isIdList(value: unknown): boolean {
  const isList = Array.isArray(value) && value.length <= maxIds && new Set(value).size === value.length
  return isList && value.every(isIdText)
}

/** A list of ids, each once. */
export const IdsOf = (what: string) =>
  checked<string[]>(isIdList, {
    type: 'array',
    maxItems: maxIds,
    uniqueItems: true,
    items: { type: 'string', format: 'uuid' },
    description: `A list of at most ${maxIds} ids of ${what}, each once`,
    examples: [[]],
  })

/** A list of 1 to `maxItems` items, each of which `fits`. */
export function ListOf<T>(items: TSchema, fits: (one: T) => boolean, maxItems: number, texts: object) {
  const check = (value: unknown) =>
    Array.isArray(value) && value.length >= 1 && value.length <= maxItems && value.every(fits)
  return checked<T[]>(check, { type: 'array', minItems: 1, maxItems, items, ...texts })
}

/** Whether a schema is that of an id that a client makes: it names nothing yet. */
export const isOwnIdSchema = (schema: TSchema): boolean => checkOf(schema) === isOwnId

/** Whether a schema is that of an id, of an id or null, or of a list of ids. */
export const isIdSchema = (schema: TSchema): boolean =>
  [isIdText, isIdList, isOwnId].some((check) => checkOf(schema) === check) ||
  (schema.anyOf ?? []).some(isIdSchema)

/** The value of such a field, with each of its ids replaced. */
export function mapIds(value: unknown, replace: (id: string) => unknown): unknown {
  if (Array.isArray(value)) return value.map(replace)
  return typeof value === 'string' ? replace(value) : value
}

/** A JSON body. Other fields of the resource are ignored, so that a client can send back what it has read. */
export function Body<T extends TProperties>(properties: T, { properties: shown }: TObject) {
  const others = Object.keys(shown).filter((name) => !(name in properties))
  const readOnly = (name: string) => ({
    readOnly: true,
    description: shown[name]!.description ?? 'Read only',
  })
  const ignored = others.map((name) => [name, Type.Optional(Type.Unknown(readOnly(name)))])
  const description = `Read-only fields may come along and are ignored: ${others.join(', ')}`
  return Type.Object<T>(
    { ...properties, ...Object.fromEntries(ignored) },
    { additionalProperties: false, ...(others.length && { description }) },
  )
}
