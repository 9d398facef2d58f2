import { OptionalKind, type TObject, type TSchema } from '@sinclair/typebox'
import { isOwnIdSchema } from '../../../src/schema/input.ts'
import { batchProject } from '../../commands.ts'

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

/** Converts booleans to the texts `true` and `false` in the fields that a batch accepts only as texts. */
export function withTextFlags<Operation extends { op: string }>(operation: Operation): Operation {
  const fields: Record<string, unknown> = { ...operation }
  for (const [name, schema] of Object.entries(operationFields.get(operation.op) ?? {}))
    if (schema.enum && typeof fields[name] === 'boolean') fields[name] = `${fields[name]}`
  return fields as Operation
}

/** Returns one line for each operation: its name and its fields. A field has its type only in the first line that has it. */
export function operationsText(): string {
  const mentioned = new Set<string>()
  const textOf = ([name, schema]: [string, TSchema]) => {
    const type = mentioned.has(name) ? '' : typeOf(schema)
    mentioned.add(name)
    return `${name}${OptionalKind in schema ? '' : '*'}${type}`
  }
  const lines = [...operationFields].map(([op, fields]) => [op, ...Object.entries(fields).map(textOf)])
  return lines.map((words) => words.join(' ')).join('\n')
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
