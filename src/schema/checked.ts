import { Kind, type TSchema, Type, TypeRegistry } from '@sinclair/typebox'

const own = Symbol('check')

TypeRegistry.Set<{ [own]: (value: unknown, schema: object) => boolean }>('Checked', (schema, value) =>
  schema[own](value, schema),
)

/** A schema with a check of its own, which gets the schema to compare with. The document shows the schema. */
export const checked = <T>(check: (value: unknown, schema: never) => boolean, schema: object) =>
  Type.Unsafe<T>({ [Kind]: 'Checked', [own]: check, ...schema })

/** The check of such a schema. */
export const checkOf = (schema: TSchema): unknown => (own in schema ? schema[own as never] : undefined)
