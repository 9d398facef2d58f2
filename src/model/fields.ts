import { type TSchema, Type } from '@sinclair/typebox'
import { Id } from '../schema/response.ts'
import { IdOf, IdsOf } from '../schema/input.ts'
import { Nullable } from '../schema/text.ts'
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

function of<Input extends TSchema, Value>(input: Input, shown: TSchema, first: Value): Field<Input, Value> {
  return { input, shown, first }
}

/** The ids of rows of another entity, which is loaded with its project. */
const ids = (to: Entity, onMove: Reference['onMove']) => {
  const shown = Type.Array(Id(`The id of a ${to}`), { description: `The ids of each ${to}` })
  return { ...of(IdsOf(`the entity ${to}`), shown, [] as string[]), reference: { to, onMove } }
}

const id = (to: Entity, onMove: Reference['onMove']) => {
  const description = `The id of a ${to}`
  const shown = Type.Union([Id(description), Type.Null()], { description: `${description}, or null` })
  return { ...of(Nullable(IdOf(to)), shown, null as string | null), reference: { to, onMove } }
}

/** Makes fields: of any schemas, or of references to another entity. */
export const field = { of, ids, id }

type Fields = Record<string, Field>
const each = <F extends Fields, T>(fields: F, of: (one: Field) => T) =>
  Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, of(one)])) as Record<keyof F, T>

export const inputsOf = <F extends Fields>(fields: F) =>
  Type.Partial(Type.Object(each(fields, ({ input }) => input) as { [K in keyof F]: F[K]['input'] }))
    .properties
export const shownOf = (fields: Fields) => each(fields, ({ shown }) => shown)
/** The values of a new row. */
export const firstOf = <F extends Fields>(fields: F) =>
  each(fields, ({ first }) => first) as { [K in keyof F]: F[K]['first'] }
export const referencesIn = (fields: Fields) =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, { reference }]) => (reference ? [[name, reference]] : [])),
  )
