import { type TOptional, type TSchema, Type } from '@sinclair/typebox'
import { IdOf, IdsOf, Nullable } from '../schema/input.ts'
import { Id, capital } from '../schema/response.ts'
import type { KeyedValues, Reference } from './definition.ts'
import type { Entity } from './entities.ts'

/** A field that clients set: its schemas in requests and replies, and its default. */
export interface Field<Input extends TSchema = TSchema, Value = unknown> {
  input: Input
  output: TSchema
  defaultValue: Value
  reference?: Reference
}

const of = <Input extends TSchema, Value>(input: Input, output: TSchema, defaultValue: Value) =>
  ({ input, output, defaultValue }) as Field<Input, Value>

/** Defines a list of ids. The entity `to` must be `task`, or have `load: 'with project'`. */
const ids = (to: Entity, onMove: Reference['onMove'], max = 100) => {
  const output = Type.Array(Id(`The id of a ${to}`), { description: `The ids of each ${to}` })
  return { ...of(IdsOf(`${to}s`, max), output, [] as string[]), reference: { to, onMove, max } }
}

const id = (to: Entity, onMove: Reference['onMove']) => {
  const description = `The id of a ${to}`
  const output = Type.Union([Id(description), Type.Null()], { description: `${description}, or null` })
  return { ...of(Nullable(IdOf(to)), output, null as string | null), reference: { to, onMove } }
}

/** Defines an object of values by the keys of the rows of `to`, which must have `load: 'with project'`. */
const values = <Input extends TSchema>(to: Entity, input: Input, output: TSchema, keyed: KeyedValues) => {
  const onMove = { by: keyed.key }
  return { ...of(input, output, undefined), reference: { to, onMove, values: keyed } }
}

export const field = { of, ids, id, values }

type Fields = Record<string, Field>
const each = <F extends Fields, T>(fields: F, of: (one: Field) => T) =>
  Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, of(one)])) as Record<keyof F, T>

export const inputsOf = <F extends Fields>(fields: F) =>
  Type.Partial(Type.Object(each(fields, ({ input }) => input) as { [K in keyof F]: F[K]['input'] }))
    .properties
/** The names of the inputs that change a list of ids: `addTagIds` and `removeTagIds` for `tagIds`. */
export const editNames = <Name extends string>(name: Name) =>
  [`add${capital(name)}`, `remove${capital(name)}`] as EditNames<Name>
type EditNames<Name extends string> = [`add${Capitalize<Name>}`, `remove${Capitalize<Name>}`]

/** Inputs that add ids to lists, or remove ids, so that two clients can change one list at the same time. */
export const editsOf = <F extends Record<string, Field<TSchema, string[]>>>(fields: F) =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, { input }]) =>
      editNames(name).map((edit, n) => {
        const description = `${input.description}: ${n === 0 ? 'appended to' : 'removed from'} ${name}`
        return [edit, Type.Optional({ ...input, description })]
      }),
    ),
  ) as { [N in EditNames<keyof F & string>[number]]: TOptional<F[keyof F]['input']> }

export const outputsOf = (fields: Fields) => each(fields, ({ output }) => output)
export const defaultsOf = <F extends Fields>(fields: F) =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, { defaultValue }]) =>
      defaultValue === undefined ? [] : [[name, defaultValue]],
    ),
  ) as { [K in keyof F]: F[K]['defaultValue'] }
export const referencesIn = (fields: Fields) =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, { reference }]) => (reference ? [[name, reference]] : [])),
  )
