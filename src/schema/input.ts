import { Kind, type TObject, type TProperties, type TSchema, Type, TypeRegistry } from '@sinclair/typebox'

// Whether there is such a thing is asked where it is looked for: what is no id names nothing, and is not found.
TypeRegistry.Set('DocketId', (_schema, value) => typeof value === 'string' && value.length <= 100)

/** The plain input of a command. Unknown fields are refused, for a misspelt one must not be lost. */
export const Input = <T extends TProperties>(properties: T) =>
  Type.Object(properties, { additionalProperties: false })

/** An id that a command names, as a path or a body says it. */
export const IdOf = (what: string) =>
  Type.Unsafe<string>({
    [Kind]: 'DocketId',
    type: 'string',
    format: 'uuid',
    description: `The id of a ${what}`,
    examples: ['019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5b'],
  })

const UUIDv7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i
TypeRegistry.Set('DocketOwnId', (_schema, value) => typeof value === 'string' && UUIDv7.test(value))

/** An id that the client makes for what it creates. */
export const OwnId = () =>
  Type.Optional(
    Type.Unsafe<string>({
      [Kind]: 'DocketOwnId',
      type: 'string',
      format: 'uuid',
      description: 'A UUIDv7 that nothing has or had: made by the client, else one is made here',
      examples: ['019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5b'],
    }),
  )

const maxIds = 100

TypeRegistry.Set('DocketIds', (_schema, value) => {
  const isList = Array.isArray(value) && value.length <= maxIds && new Set(value).size === value.length
  return isList && value.every((id) => typeof id === 'string' && id.length <= 100)
})

/** A list of ids, each once. */
export const IdsOf = (what: string) =>
  Type.Unsafe<string[]>({
    [Kind]: 'DocketIds',
    type: 'array',
    maxItems: maxIds,
    uniqueItems: true,
    items: { type: 'string', format: 'uuid' },
    description: `A list of at most ${maxIds} ids of ${what}, each once`,
    examples: [[]],
  })

/** True for an id that a client makes: it names nothing yet. */
export const isOwnIdSchema = (schema: TSchema): boolean => schema[Kind] === 'DocketOwnId'

/** True for the schema of an id, of an id that may be null, or of a list of ids. */
export const isIdSchema = (schema: TSchema): boolean =>
  ['DocketId', 'DocketIds', 'DocketOwnId'].includes(schema[Kind]) || (schema.anyOf ?? []).some(isIdSchema)

/** The value of such a field, with each of its ids replaced. */
export function mapIds(value: unknown, replace: (id: string) => unknown): unknown {
  if (Array.isArray(value)) return value.map(replace)
  return typeof value === 'string' ? replace(value) : value
}

/**
 * A JSON body: unknown fields are refused, for a misspelt one must not be lost. What else the resource shows may come
 * along and is ignored, so that what was read can be sent back.
 */
export function Body<T extends TProperties>(properties: T, { properties: shown }: TObject) {
  const others = Object.keys(shown).filter((name) => !(name in properties))
  const readOnly = (name: string) => ({
    readOnly: true,
    description: shown[name]!.description ?? 'Read only',
  })
  const ignored = others.map((name) => [name, Type.Optional(Type.Unknown(readOnly(name)))])
  return Type.Object<T>(
    { ...properties, ...Object.fromEntries(ignored) },
    {
      additionalProperties: false,
      ...(others.length && {
        description: `Read-only fields may come along and are ignored: ${others.join(', ')}`,
      }),
    },
  )
}

/** Query parameters: unknown ones are refused, for a misspelt filter must not answer the wrong list. */
export const Parameters = <T extends TProperties>(properties: T) =>
  Type.Object(properties, { additionalProperties: false })
