import type { TSchema } from '@sinclair/typebox'

const component = Symbol('component')

/** The schema as a component of the document: wherever it stands, it is referred to by this name. */
export const named = <T extends TSchema>(name: string, schema: T): T => ({ ...schema, [component]: name })

/** The name that a schema goes by in the document, if it has one. */
export const nameOf = (schema: object): string | undefined =>
  component in schema ? String(schema[component]) : undefined
