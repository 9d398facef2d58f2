import { Kind, type TObject, type TSchema, Type } from '@sinclair/typebox'
import type { Command } from '../commands/command.ts'
import { Body, checked, Input, isIdSchema, isOwnIdSchema } from '../schema/input.ts'
import type { View } from '../model/view.ts'
import { named } from '../schema/response.ts'
import { Name, orElse } from '../schema/text.ts'

export const maxOperations = 500

const commonFields = {
  as: Type.Optional({
    ...Name(64, 'plate'),
    description: 'A name of 1 to 64 characters for the resource of the operation',
  }),
  ifMatch: Type.Optional(
    Type.String({
      maxLength: 1_000,
      description:
        'A text, the ETag that the resource must have, with or without `W/`: if not, 412 is returned',
    }),
  ),
}

export function operationSchema(
  { name, input, view: shows, location, emptyReply }: Command<never>,
  view: View,
  projectKey?: string,
) {
  const fields = Object.entries(input.properties).map(([key, schema]) => {
    if (key === projectKey)
      return [
        key,
        Type.Optional(
          reference({ ...schema, description: "The id of the batch's project; may be left out" }),
        ),
      ]
    return [key, isIdSchema(schema) && !isOwnIdSchema(schema) ? reference(schema) : schema]
  })
  const isName = (value: unknown) => value === name
  const op = { type: 'string', enum: [name], description: name, examples: [name] }
  const all = {
    ...{ op: checked<string>(isName, op), as: commonFields.as },
    ...(!location && !emptyReply && { ifMatch: commonFields.ifMatch, was: wasSchema(view) }),
    ...Object.fromEntries(fields),
  }
  return named(`${camel(name)}Operation`, shows ? Body(all, view.schema) : Body(all, Type.Object({})))
}

const camel = (name: string): string =>
  name.replace(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase())

/** The schema of an id field that also accepts `#name`, which has no UUID format. */
function reference({ format: _, ...schema }: TSchema): TSchema {
  const description = orElse(schema.description!, 'the `#name` of an earlier operation')
  const { anyOf, items } = schema
  const inside = anyOf ? { anyOf: anyOf.map(withoutFormat) } : items ? { items: withoutFormat(items) } : {}
  return { ...schema, ...inside, description } as unknown as TSchema
}
const withoutFormat = ({ format: _, ...schema }: TSchema) => schema

const accountFields = ['authorRemoved']
const taskObjects = ['fields', 'claim']

function wasSchema({ schema }: View): TObject {
  const plain = Object.entries(schema.properties as Record<string, TSchema>).filter(
    ([name, one]) => taskObjects.includes(name) || (!accountFields.includes(name) && !isObject(one)),
  )
  const fields = plain.map(([name, one]) => [name, Type.Optional({ ...one, [Kind]: 'Unknown' } as TSchema)])
  const about = 'An object of fields and the values that they must have: if not, 409 is returned'
  return Type.Optional({ ...Input(Object.fromEntries(fields)), description: about })
}

const isObject = (schema: TSchema): boolean =>
  schema.type === 'object' || (schema.anyOf ?? []).some((one: TSchema) => isObject(one))

const isList = (value: unknown) => Array.isArray(value) && value.length >= 1 && value.length <= maxOperations

/** The schema of the list. Each operation is validated later, so that the error can name its index. */
export function operationsSchema<T>(schemas: Map<string, TObject>) {
  const refs = [...schemas.keys()].map((op) => [op, `#/components/schemas/${camel(op)}Operation`])
  return checked<T[]>(isList, {
    type: 'array',
    minItems: 1,
    maxItems: maxOperations,
    description: `A list of 1 to ${maxOperations} operations`,
    items: {
      oneOf: [...schemas.values()],
      discriminator: { propertyName: 'op', mapping: Object.fromEntries(refs) },
    },
    examples: [example],
  })
}

const example = [
  { op: 'task.create', as: 'plate', title: 'Draw the second plate' },
  { op: 'subtask.create', taskId: '#plate', title: 'Sharpen the pencil' },
  { op: 'task.update', id: '#plate', was: { status: 'TODO' }, status: 'IN_PROGRESS' },
]
