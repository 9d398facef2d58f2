import { Kind, type TObject, type TProperties, type TSchema, Type, TypeRegistry } from '@sinclair/typebox'
import { isIdInAnyCase } from '../id-format.ts'
import { Id, sampleId } from './response.ts'

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
