import { Kind, type TObject, type TSchema, Type } from '@sinclair/typebox'
import type { Command } from '../commands/command.ts'
import { Body, checked, Input, isIdSchema, isOwnIdSchema } from '../schema/input.ts'
import type { View } from '../model/view.ts'
import { named } from '../schema/named.ts'
import { Name } from '../schema/text.ts'

export const mostOperations = 500

const besides = {
  as: Type.Optional({
    ...Name(64, 'plate'),
    description: 'A name of 1 to 64 characters for what it is about',
  }),
  ifMatch: Type.Optional(
    Type.String({ maxLength: 1_000, description: 'An ETag that what it changes must still have' }),
  ),
}

/** A command's input as one of many: its name, all that it takes alone, and conditions of its own. */
export function operationSchema(
  { name, input, view: shows, location }: Command<never>,
  view: View,
  projectKey?: string,
) {
  const fields = Object.entries(input.properties).map(([key, schema]) => {
    if (key === projectKey)
      return [key, Type.Optional(reference({ ...schema, description: 'The project, if anything' }))]
    return [key, isIdSchema(schema) && !isOwnIdSchema(schema) ? reference(schema) : schema]
  })
  const isName = (value: unknown) => value === name
  const op = { type: 'string', enum: [name], description: name, examples: [name] }
  const all = {
    ...{ op: checked<string>(isName, op), as: besides.as },
    ...(!location && { ifMatch: besides.ifMatch, was: wasSchema(view) }),
    ...Object.fromEntries(fields),
  }
  return named(`${camel(name)}Operation`, shows ? Body(all, view.schema) : Body(all, Type.Object({})))
}

/** `task.set_role` is TaskSetRole. */
const camel = (name: string): string =>
  name.replace(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase())

/** An id, or `#name`: no format that a name would not have. */
function reference({ format: _, ...schema }: TSchema): TSchema {
  const description = `${schema.description}, or \`#name\` of an operation before`
  const { anyOf, items } = schema
  const inside = anyOf ? { anyOf: anyOf.map(without) } : items ? { items: without(items) } : {}
  return { ...schema, ...inside, description } as unknown as TSchema
}
const without = ({ format: _, ...schema }: TSchema) => schema

const ofAccounts = ['authorRemoved']

/** Fields as they were read: any value may be compared. */
function wasSchema({ schema }: View): TObject {
  const plain = Object.entries(schema.properties as Record<string, TSchema>).filter(
    ([name, one]) => !ofAccounts.includes(name) && !isObject(one),
  )
  const fields = plain.map(([name, one]) => [name, Type.Optional({ ...one, [Kind]: 'Unknown' } as TSchema)])
  const about = 'Fields as the caller knows them: 409 when one is another by now'
  return Type.Optional({ ...Input(Object.fromEntries(fields)), description: about })
}

const isObject = (schema: TSchema): boolean =>
  schema.type === 'object' || (schema.anyOf ?? []).some((one: TSchema) => isObject(one))

const isList = (value: unknown) => Array.isArray(value) && value.length >= 1 && value.length <= mostOperations

/** The list of them. What is in it is held to their schemas where it is read, to say which one does not fit. */
export function operationsSchema<T>(schemas: Map<string, TObject>) {
  const refs = [...schemas.keys()].map((op) => [op, `#/components/schemas/${camel(op)}Operation`])
  return checked<T[]>(isList, {
    type: 'array',
    minItems: 1,
    maxItems: mostOperations,
    description: `A list of 1 to ${mostOperations} operations`,
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
