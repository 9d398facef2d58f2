import { type TObject, Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { fieldTypes } from '../../../fields/schema.ts'
import { priorities, statuses } from '../../../tasks/schema.ts'
import { ImportError, type ImportedItem } from '../../items.ts'
import type { Line } from './lines.ts'

const Text = Type.String()
const OptionalText = Type.Optional(Type.Union([Text, Type.Null()]))
const Person = Type.Optional(
  Type.Union([Type.Object({ name: Text, email: Type.Optional(Text) }), Type.Null()]),
)
const oneOf = <const T extends readonly string[]>(values: T) =>
  Type.Unsafe<T[number]>(Type.Union(values.map((one) => Type.Literal(one))))
const origin = { createdAt: OptionalText, author: Person, importedAuthor: OptionalText }

const LabelLine = Type.Object({ name: Text, color: OptionalText, createdAt: OptionalText })
const FieldLine = Type.Object({
  key: Text,
  name: Text,
  type: oneOf(fieldTypes),
  options: Type.Optional(Type.Union([Type.Array(Text), Type.Null()])),
  createdAt: OptionalText,
})
const TaskLine = Type.Object({
  id: Text,
  title: Text,
  description: OptionalText,
  status: Type.Optional(oneOf(statuses)),
  priority: Type.Optional(oneOf(priorities)),
  dueDate: OptionalText,
  remindAt: OptionalText,
  assignee: Person,
  labels: Type.Optional(Type.Array(Text)),
  fields: Type.Optional(Type.Record(Text, Type.Union([Text, Type.Number(), Type.Boolean()]))),
  externalId: OptionalText,
  blockedByIds: Type.Optional(Type.Array(Text)),
  ...origin,
})
const SubtaskLine = Type.Object({
  id: Text,
  taskId: Text,
  title: Text,
  completed: Type.Boolean(),
  createdAt: OptionalText,
})
const CommentLine = Type.Object({ id: Text, taskId: Text, text: Text, ...origin })

const kinds = new Map(
  Object.entries({
    label: LabelLine,
    field: FieldLine,
    task: TaskLine,
    subtask: SubtaskLine,
    comment: CommentLine,
  }).map(([kind, line]) => [
    kind as unknown,
    { names: Object.keys(line.properties), check: TypeCompiler.Compile<TObject>(line) },
  ]),
)

export const isImported = (kind: unknown): boolean => kinds.has(kind)

/** Names of fields in the file, and the different names in items. */
const itemNames: Record<string, string> = { id: 'key', taskId: 'task', blockedByIds: 'blockedBy' }

/** Returns undefined for a line that is not imported. @throws ImportError for an invalid field */
export function itemOf({ number, value }: Line): ImportedItem | undefined {
  const { kind } = value
  const { check, names } = kinds.get(kind) ?? {}
  if (!check || !names) return undefined
  if (!check.Check(value)) {
    const field = check.Errors(value).First()?.path.slice(1) ?? ''
    throw new ImportError(`The field ${field} of the ${String(kind)} is not valid`, `line ${number}`)
  }
  // The first line is the header, so rows count from the second.
  const item: Record<string, unknown> = { kind, row: number - 1 }
  for (const name of names) if (value[name] != null) item[itemNames[name] ?? name] = value[name]
  // The first author of a row that the exporting project had imported.
  const { importedAuthor, ...rest } = item
  if (importedAuthor) rest.author = { name: importedAuthor }
  if (kind === 'task')
    Object.assign(rest, { isExported: true, externalId: rest.externalId ?? `docket:${rest.key}` })
  return rest as unknown as ImportedItem
}
