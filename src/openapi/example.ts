import type { TSchema } from '@sinclair/typebox'
import { unique } from '../schema/response.ts'

/** Example bodies omit optional fields of these formats, because the valid values depend on stored data. */
const formatsOfReferences = ['uuid', 'password', 'int64']

/** Builds an example body from the examples of its fields. With valid ids in the path, the example works unchanged. */
export function requestExample(schema: TSchema): unknown {
  if (schema.examples) return schema.examples[0]
  const { properties, required = [] } = schema
  return examplesOf(properties, (name, one) => required.includes(name) || !(one.readOnly || isReference(one)))
}

export function responseExample(schema: TSchema): unknown {
  if (schema.examples) return schema.examples[0]
  if (schema.type === 'object') return examplesOf(schema.properties)
  if (schema.type === 'array') return [responseExample(schema.items)]
  if (schema.anyOf) return responseExample(schema.anyOf[0])
  return schema.enum?.[0] ?? null
}

type IsGiven = (name: string, schema: TSchema) => boolean

function examplesOf(properties: Record<string, TSchema>, isGiven: IsGiven = () => true) {
  const included = Object.entries(properties).filter(([name, one]) => isGiven(name, one))
  return Object.fromEntries(included.map(([name, one]) => [name, responseExample(one)]))
}

const isReference = (schema: TSchema): boolean =>
  formatsOfReferences.includes(schema.format) ||
  unique in schema ||
  [schema.items ?? [], schema.anyOf ?? [], Object.values(schema.properties ?? {})].flat().some(isReference)
