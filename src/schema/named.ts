import type { TSchema } from '@sinclair/typebox'

const component = Symbol('component')

/** The schema as a component of the document, with references to it by this name. */
export const named = <T extends TSchema>(name: string, schema: T): T => ({ ...schema, [component]: name })

/** The name of such a schema. */
export const nameOf = (schema: object): string | undefined =>
  component in schema ? String(schema[component]) : undefined
