import { OptionalKind, type TObject, type TSchema, Type } from '@sinclair/typebox'
import { isIdInAnyCase } from '../../src/id-format.ts'
import { isOwnIdSchema } from '../../src/schema/input.ts'
import { batchProject } from '../commands.ts'
import { EventTypes as AnyEventTypes } from '../events/parameters.ts'
import { ToolError } from './call.ts'

export const optional = Type.Optional

export const TaskId = (description = 'The id of a task') =>
  Type.String({ minLength: 1, maxLength: 100, description })

/** In a path or a header, another text than an id could have another meaning. @throws ToolError 404 */
export function taskPath(id: string): string {
  if (isIdInAnyCase(id)) return `/tasks/${id}`
  throw new ToolError(404, 'Task not found', 'Pass the id of a task that find lists')
}

export const ProjectName = Type.String({ minLength: 1, description: 'The id or name of a project' })

export const UserName = (alternatives = 'id or me') =>
  optional(Type.String({ maxLength: 300, description: `A name, email, ${alternatives}` }))

export const LabelNames = (which: string) =>
  optional(
    Type.Array(Type.String({ maxLength: 100 }), {
      ...{ minItems: 1, maxItems: 50 },
      description: `A list of names or ids: tasks with ${which} of these labels`,
    }),
  )

/** An optional whole number. */
export const Count = (minimum: number, maximum: number, description: string) =>
  optional(Type.Integer({ minimum, maximum, description: `A whole number${description}` }))
export const Range = (minimum: number, maximum: number, about: string) =>
  Count(minimum, maximum, ` from ${minimum} to ${maximum}: ${about}`)

/** A text that the header Idempotency-Key may contain. */
const Key = (about: string) =>
  Type.String({ pattern: '^[ -~]{1,255}$', description: `A text of 1 to 255 ASCII characters: ${about}` })
export const ChangeKey = Key(
  'new for each change. After a lost answer or an error, call again with the same key: the change is done once',
)
export const RepeatKey = optional(Key('new for each call. A repeat with the same key gets the same answer'))

export const EventTypes = optional(
  Type.Unsafe<string>({
    ...AnyEventTypes(),
    description: 'A text of event types, such as task.created,task.deleted',
  }),
)

export const Flag = (about: string) => optional(Type.Boolean({ description: `true or false: ${about}` }))
export const DryRun = Flag('check only')

/** Fields of all operations, which the list of an operation's fields omits. */
const common = ['op', 'as', 'was', 'ifMatch', 'projectId']
const schemas: TObject[] = batchProject.input.properties.operations!.items.oneOf

/** The fields of each operation of a batch, in the order of the OpenAPI document. */
export const operationFields: ReadonlyMap<string, TObject['properties']> = new Map(
  schemas.map(({ properties }) => {
    const op: string = properties.op!.enum[0]
    const fields = Object.entries(properties)
      .filter(([name, schema]) => !common.includes(name) && !schema.readOnly && !isOwnIdSchema(schema))
      .filter(([name]) => op !== 'project.update' || name !== 'id')
    return [op, Object.fromEntries(fields)]
  }),
)

/** Returns one line for each operation: its name and its fields. A field has its type only in the first line that has it. */
export function operationsText(): string {
  const mentioned = new Set<string>()
  const textOf = ([name, schema]: [string, TSchema]) => {
    const type = mentioned.has(name) ? '' : typeOf(schema)
    mentioned.add(name)
    return `${name}${OptionalKind in schema ? '' : '*'}${type}`
  }
  return [...operationFields]
    .map(([op, fields]) => [op, ...Object.entries(fields).map(textOf)].join(' '))
    .join('\n')
}

function typeOf({ type, anyOf = [], minimum, maximum, format, ...schema }: TSchema): string {
  const [inner] = anyOf.filter((one: TSchema) => one.type !== 'null')
  if (inner) return typeOf(inner)
  if (schema.enum) return `=${schema.enum.join('|')}`
  if (type === 'integer') return `=${minimum}..${maximum}`
  if (type === 'boolean') return '=true|false'
  if (format === 'date-time') return '=date'
  return type === 'array' ? '[]' : type === 'object' ? '{}' : ''
}
