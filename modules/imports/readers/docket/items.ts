import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { fieldTypes } from '../../../fields/schema.ts'
import { priorities, statuses } from '../../../tasks/schema.ts'
import { ImportError, type ImportedItem, type ImportedPerson } from '../../items.ts'
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

type Read = (value: object, row: number) => ImportedItem | string

/** @returns a function that returns the name of the first invalid field if the line does not fit the schema */
function reading<S extends TSchema>(schema: S, of: (line: Static<S>, row: number) => ImportedItem): Read {
  const check = TypeCompiler.Compile(schema)
  return (value, row) =>
    check.Check(value) ? of(value, row) : (check.Errors(value).First()?.path.slice(1) ?? '')
}

const readers: Record<string, Read> = {
  label: reading(LabelLine, ({ name, color, createdAt }, row) =>
    given({ kind: 'label', row, name, color, createdAt }),
  ),
  field: reading(FieldLine, ({ key, name, type, options, createdAt }, row) =>
    given({ kind: 'field', row, key, name, type, options, createdAt }),
  ),
  task: reading(TaskLine, ({ id, blockedByIds, externalId, author, importedAuthor, ...line }, row) => {
    const { title, description, status, priority, dueDate, remindAt, assignee, labels, fields, createdAt } =
      line
    return given({
      ...{
        kind: 'task',
        row,
        key: id,
        externalId: externalId ?? `docket:${id}`,
        title,
        description,
        status,
        priority,
        isExported: true,
      },
      ...{ dueDate, remindAt, assignee, labels, fields, createdAt, blockedBy: blockedByIds },
      author: authorOf(author, importedAuthor),
    })
  }),
  subtask: reading(SubtaskLine, ({ id, taskId, title, completed, createdAt }, row) =>
    given({ kind: 'subtask', row, key: id, task: taskId, title, completed, createdAt }),
  ),
  comment: reading(CommentLine, ({ id, taskId, text, createdAt, author, importedAuthor }, row) =>
    given({
      kind: 'comment',
      row,
      key: id,
      task: taskId,
      text,
      createdAt,
      author: authorOf(author, importedAuthor),
    }),
  ),
}

/** The person who wrote a row, also if the exporting project had imported the row. */
const authorOf = (author?: ImportedPerson | null, importedAuthor?: string | null) =>
  importedAuthor ? { name: importedAuthor } : author

const given = (item: object): ImportedItem =>
  Object.fromEntries(Object.entries(item).filter(([, value]) => value != null)) as unknown as ImportedItem

/** Returns undefined for a line that is not imported. @throws ImportError for an invalid field */
export function itemOf({ number, value }: Line): ImportedItem | undefined {
  const read = Object.hasOwn(readers, String(value.kind)) ? readers[String(value.kind)] : undefined
  // The first line is the header, so rows count from the second.
  const item = read?.(value, number - 1)
  if (typeof item === 'string')
    throw new ImportError(`The field ${item} of the ${String(value.kind)} is not valid`, `line ${number}`)
  return item
}
