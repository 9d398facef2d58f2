import { type TSchema, Type } from '@sinclair/typebox'

const component = Symbol('component')
/** Marks a text that only one row may have. Example bodies omit it, so that they can be sent twice. */
export const unique = Symbol('unique')

/** Makes the schema a component of the OpenAPI document with this name. */
export const named = <T extends TSchema>(name: string, schema: T): T => ({ ...schema, [component]: name })

export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

export const nameOf = (schema: object): string | undefined =>
  component in schema ? String(schema[component]) : undefined

export const ErrorSchema = named(
  'Error',
  Type.Object({
    statusCode: Type.Integer({ minimum: 400, maximum: 599, description: 'The HTTP status', examples: [404] }),
    message: Type.String({
      description: 'A description of the error for people',
      examples: ['Project not found'],
    }),
    error: Type.String({ description: 'The HTTP reason phrase', examples: ['Not Found'] }),
  }),
)

export const sampleId = '019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5b'
export const Id = (description: string) => Type.String({ format: 'uuid', description, examples: [sampleId] })
export const Count = (minimum: number, description: string, example: number) =>
  Type.Integer({ minimum, description, examples: [example] })
export const OrNull = <T extends TSchema>(schema: T, description: string, example: unknown = null) =>
  Type.Union([schema, Type.Null()], { description, examples: [example] })
export const IdOrNull = (description: string) => OrNull(Id(description), description, sampleId)
export const Timestamp = (description: string) =>
  Type.String({ format: 'date-time', description, examples: ['2027-01-15T09:30:00.000Z'] })
export const Message = named(
  'Message',
  Type.Object({ message: Type.String({ description: 'A description of the result', examples: ['Done'] }) }),
)
