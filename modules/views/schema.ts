import { type TSchema, Type } from '@sinclair/typebox'
import type { ViewRow } from '../../drizzle/rows.ts'
import { view } from '../../src/model/view.ts'
import { IdOf, Input, OwnId, Name } from '../../src/schema/input.ts'
import { Id, Timestamp } from '../../src/schema/response.ts'
import { ListTasksQuery } from '../task-lists/list-query.ts'

/** The maximum number of parameters of a view, and the maximum number of characters of their names and values together. */
const maxParameters = 20
export const maxCharacters = 4_000

/** The parameters that a view does not store. */
export const unstoredParameters = ['projectId', 'cursor', 'asOf']

/** In a view, numbers are texts, as in a URL. */
function asText(schema: TSchema): TSchema {
  if (schema.type !== 'integer') return schema
  const { minimum, maximum, examples = [] } = schema
  const range = minimum === undefined ? '' : ` from ${minimum} to ${maximum}`
  const description = `A whole number${range} as a text`
  return Type.Optional(Type.String({ maxLength: 17, description, examples: examples.map(String) }))
}

const parameters = Object.fromEntries(
  Object.entries<TSchema>(ListTasksQuery.properties).flatMap(([name, schema]) =>
    unstoredParameters.includes(name) ? [] : [[name, asText(schema)]],
  ),
)

const Query = Type.Object(parameters, {
  additionalProperties: Type.String(),
  maxProperties: maxParameters,
  description: `An object with at most ${maxParameters} parameters of the list of tasks: each value is a text. Without projectId, cursor and asOf`,
  examples: [{ status: 'TODO', sort: '-createdAt' }],
})
const ViewName = Name(100, 'Next steps')

export const CreateView = Input({ id: OwnId(), projectId: IdOf('project'), name: ViewName, query: Query })
export const UpdateView = Input({
  id: IdOf('view'),
  name: Type.Optional(ViewName),
  query: Type.Optional(Query),
})

export const savedView = view<ViewRow>({
  name: 'View',
  schema: Type.Object({
    id: Id('The view'),
    projectId: Id('The project whose tasks the view lists'),
    name: Type.String({ description: 'The name of the view', examples: ['Next steps'] }),
    query: Type.Unsafe<Record<string, string>>({
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'Parameters of the list of tasks',
      examples: [{ status: 'TODO', sort: '-createdAt' }],
    }),
    createdAt: Timestamp('When the view was created'),
  }),
})
