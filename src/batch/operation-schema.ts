import { Type, Kind, type TObject, type TSchema } from '@sinclair/typebox'
import type { Command } from '../commands/command.ts'
import type { Entity } from '../model/entities.ts'
import { model } from '../model/model.ts'
import type { View } from '../model/view.ts'
import { Body, checked, Input, isIdSchema, isOwnIdSchema, OneOf, Name, orElse } from '../schema/input.ts'
import { named } from '../schema/response.ts'

export const Flag = (name: string, about: string) => Type.Optional(OneOf(name, ['true', 'false'], about))

export const DryRun = Flag(
  'DryRun',
  '`true` returns the result that the request would have, and changes nothing',
)

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
        'A text, the ETag that the resource must have before the batch, with or without `W/`: if not, 412 is returned',
    }),
  ),
}

function operationSchema(
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
    ...{ op: checked<string>(isName, op), ...commonFields },
    ...(!location && !emptyReply && { was: wasSchema(view) }),
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

function wasSchema({ schema }: View): TObject {
  const fields = Object.entries(schema.properties as Record<string, TSchema>).map(([name, one]) => [
    name,
    Type.Optional({ ...one, [Kind]: 'Unknown' } as TSchema),
  ])
  const about = 'An object of fields and the values that they must have: if not, 409 is returned'
  return Type.Optional({ ...Input(Object.fromEntries(fields)), description: about })
}

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

export interface Operation extends Record<string, unknown> {
  op: string
  as?: string
  ifMatch?: string
  was?: Record<string, unknown>
}

export interface OperationType {
  command: Command
  noun: Entity
  /** The input fields that contain ids, or `#name` of an earlier operation. */
  idFields: string[]
  projectKey?: string
  schema: TObject
}

export type OperationTypes = ReadonlyMap<string, OperationType>

/** True for commands that a batch may contain. They do not create or delete the project, and are not internal. */
const isInside = (command: Command<never>): boolean =>
  command.target.kind !== 'new' &&
  command.role !== null &&
  command.role !== 'OWNER' &&
  (model().entities[nounOf(command)]?.load ?? 'on demand') !== 'on demand'

const nounOf = ({ noun }: Command<never>) => noun as Entity

export function operationTypesOf(commands: Command<never>[]): OperationTypes {
  const views = new Map(
    commands.flatMap((one) => (one.view && !one.view.hasNoEtag ? [[nounOf(one), one.view as View]] : [])),
  )
  const kinds = commands.filter(isInside).map((command): [string, OperationType] => {
    const { target, destination, input, name } = command
    const noun = nounOf(command)
    const idFields = Object.keys(input.properties).filter((key) => isIdSchema(input.properties[key]!))
    const projectKey = target.kind === 'project' ? target.key : destination && 'projectId'
    const schema = operationSchema(command, views.get(noun)!, projectKey)
    return [name, { command: command as unknown as Command, noun, idFields, projectKey, schema }]
  })
  return new Map(kinds)
}

export const subjectOf = ({ noun }: OperationType, input: Record<string, unknown>): string | undefined =>
  (input[`${noun}Id`] ?? input.id) as string | undefined
