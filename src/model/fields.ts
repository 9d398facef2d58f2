import { Kind, type TSchema, type TUnsafe, Type, TypeRegistry } from '@sinclair/typebox'
import { Id, sampleId } from '../schema/answer.ts'
import type { Reference } from './definition.ts'
import type { Entity } from './entities.ts'

/** A field that clients set: as requests give it, as answers show it, and its value in a new row where the request lacks it. */
export interface Field<Input extends TSchema = TSchema, Value = unknown> {
  input: Input
  shown: TSchema
  first: Value
  /** The rows that the field refers to by their ids. */
  reference?: Reference
}

export const field = <Input extends TSchema, Value>(
  input: Input,
  shown: TSchema,
  first: Value,
): Field<Input, Value> => ({ input, shown, first })

type Fields = Record<string, Field>
const each = <F extends Fields, T>(fields: F, of: (one: Field) => T) =>
  Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, of(one)])) as Record<keyof F, T>

/** The optional properties of a request. */
export const inputsOf = <F extends Fields>(fields: F) =>
  Type.Partial(Type.Object(each(fields, ({ input }) => input) as { [K in keyof F]: F[K]['input'] }))
    .properties

/** The properties of an answer. */
export const shownOf = (fields: Fields) => each(fields, ({ shown }) => shown)

export const firstOf = <F extends Fields>(fields: F) =>
  each(fields, ({ first }) => first) as { [K in keyof F]: F[K]['first'] }

export const referencesIn = (fields: Fields): Record<string, Reference> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, { reference }]) => (reference ? [[name, reference]] : [])),
  )

const maxIds = 100

TypeRegistry.Set('DocketIds', (_schema, value) => {
  const isList = Array.isArray(value) && value.length <= maxIds && new Set(value).size === value.length
  return isList && value.every((id) => typeof id === 'string' && id.length <= 100)
})

/** True for the schema of a list of ids. */
export const isIdsSchema = (schema: TSchema): boolean => schema[Kind] === 'DocketIds'

/** A field that holds the ids of rows of another entity, which is loaded with its project. */
export const idsOf = (to: Entity, onMove: Reference['onMove']): Field<TUnsafe<string[]>, string[]> => ({
  input: Type.Unsafe<string[]>({
    [Kind]: 'DocketIds',
    type: 'array',
    maxItems: maxIds,
    uniqueItems: true,
    items: { type: 'string', format: 'uuid' },
    description: `A list of at most ${maxIds} ids of the entity ${to}, each once`,
    examples: [[sampleId]],
  }),
  shown: Type.Array(Id(`The id of a ${to}`), { description: `The ids of the entity ${to}` }),
  first: [],
  reference: { to, onMove },
})
