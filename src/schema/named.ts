import type { TSchema } from '@sinclair/typebox'

const component = Symbol('component')
/** Marks a text that only one row may have. Example bodies omit it, so that they can be sent twice. */
export const unique = Symbol('unique')

/** Makes the schema a component of the OpenAPI document with this name. */
export const named = <T extends TSchema>(name: string, schema: T): T => ({ ...schema, [component]: name })

export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

export const nameOf = (schema: object): string | undefined =>
  component in schema ? String(schema[component]) : undefined
