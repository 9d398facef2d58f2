import type { TSchema } from '@sinclair/typebox'

/** What an optional field names by these has to be there already: an example that is to work as it stands cannot know it. */
const formatsThatName = ['uuid', 'password', 'int64']

/** An example of a body, put together from the schema's own examples: it works as it stands once the path's ids are set. */
export function requestExample(schema: TSchema): unknown {
  if (schema.examples) return schema.examples[0]
  const { properties, required = [] } = schema
  const isGiven = (name: string, one: TSchema) =>
    required.includes(name) || !(one.readOnly || namesOther(one))
  return examplesOf(properties, isGiven)
}

/** An example of an answer: with all that it may show. */
export function answerExample(schema: TSchema): unknown {
  if (schema.examples) return schema.examples[0]
  if (schema.type === 'object') return examplesOf(schema.properties, () => true)
  if (schema.type === 'array') return [answerExample(schema.items)]
  if (schema.anyOf) return answerExample(schema.anyOf[0])
  return schema.enum?.[0] ?? null
}

const examplesOf = (
  properties: Record<string, TSchema>,
  isGiven: (name: string, schema: TSchema) => boolean,
) =>
  Object.fromEntries(
    Object.entries(properties)
      .filter(([name, one]) => isGiven(name, one))
      .map(([name, one]) => [name, answerExample(one)]),
  )

const namesOther = (schema: TSchema): boolean =>
  formatsThatName.includes(schema.format) || [schema.items ?? [], schema.anyOf ?? []].flat().some(namesOther)
