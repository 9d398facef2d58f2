import { Kind, Type, TypeRegistry } from '@sinclair/typebox'

/**
 * Defines schemas with a check of their own. The returned function makes one: the document shows what it is given, and
 * `check` gets it to compare with.
 */
export function kind<Schema = object>(name: string, check: (value: unknown, schema: Schema) => boolean) {
  TypeRegistry.Set<Schema>(name, (schema, value) => check(value, schema))
  return <T>(schema: object) => Type.Unsafe<T>({ [Kind]: name, ...schema })
}
