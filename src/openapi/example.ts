import type { TSchema } from '@sinclair/typebox'

/** Formats of optional fields that name something. An example that works as it stands cannot know what exists. */
const formatsThatName = ['uuid', 'password', 'int64']

/** An example of a body, made of the schema's own examples: it works as it stands once the path's ids are set. */
export function requestExample(schema: TSchema): unknown {
  if (schema.examples) return schema.examples[0]
  const { properties, required = [] } = schema
  return examplesOf(properties, (name, one) => required.includes(name) || !(one.readOnly || namesOther(one)))
}

/** An example of an answer, with every field. */
export function answerExample(schema: TSchema): unknown {
  if (schema.examples) return schema.examples[0]
  if (schema.type === 'object') return examplesOf(schema.properties, () => true)
  if (schema.type === 'array') return [answerExample(schema.items)]
  if (schema.anyOf) return answerExample(schema.anyOf[0])
  return schema.enum?.[0] ?? null
}

function examplesOf(
  properties: Record<string, TSchema>,
  isGiven: (name: string, schema: TSchema) => boolean,
) {
  const given = Object.entries(properties).filter(([name, one]) => isGiven(name, one))
  return Object.fromEntries(given.map(([name, one]) => [name, answerExample(one)]))
}

const namesOther = (schema: TSchema): boolean =>
  formatsThatName.includes(schema.format) || [schema.items ?? [], schema.anyOf ?? []].flat().some(namesOther)
