import { type Static, type TObject, Type } from '@sinclair/typebox'
import { isId } from '../../../src/id-format.ts'
import { checked, Input } from '../../../src/schema/input.ts'
import { Id } from '../../../src/schema/response.ts'
import { Instant, Name, Nullable } from '../../../src/schema/text.ts'
import { CreateComment } from '../../comments/schema.ts'
import { CreateField } from '../../fields/schema.ts'
import { CreateLabel } from '../../labels/schema.ts'
import { UpdateProject } from '../../projects/schema.ts'
import { CreateSubtask } from '../../subtasks/schema.ts'
import { CreateTask, UpsertTask } from '../../tasks/schema.ts'

/** The most operations of a command. */
export const maxImported = 1_200

const isCanonicalId = (value: unknown) => typeof value === 'string' && isId(value)
const RowId = checked<string>(isCanonicalId, { type: 'string', format: 'uuid', description: 'An id' })
const isIdList = (value: unknown) => Array.isArray(value) && value.every(isCanonicalId)
const RowIds = checked<string[]>(isIdList, { type: 'array', description: 'A list of ids' })

const createdAt = Type.Optional(Instant())
const importedAuthor = Type.Optional(Nullable(Name(200, 'Grace Hopper')))
const ofRow = { createdAt, importedAuthor }

const { title, description, status, priority, dueDate, remindAt } = CreateTask.properties
const { assigneeId, labelIds, fields, blockedByIds } = CreateTask.properties
const taskValues = {
  ...{ title, description, status, priority, dueDate, remindAt },
  ...{ assigneeId, labelIds, fields, blockedByIds },
}
const { name, color } = CreateLabel.properties
const { key, name: fieldName, type, options } = CreateField.properties

const maxNumber = 1_000_000_000
const Num = Type.Integer({
  minimum: 1,
  maximum: maxNumber,
  description: `A whole number from 1 to ${maxNumber}`,
})

const task = {
  id: RowId,
  externalId: UpsertTask.properties.externalId,
  ...{ ownId: Type.Optional(RowId), number: Type.Optional(Num) },
  fieldKeys: Type.Optional(Type.Array(Type.String(), { description: 'A list of keys' })),
  ...ofRow,
}
const ProjectFields = Input({ id: RowId, description: UpdateProject.properties.description })
const LabelFields = Input({ id: RowId, name, color, createdAt })
const FieldFields = Input({ id: RowId, key, name: fieldName, type, options, createdAt })
const TaskFields = Input({ ...task, values: Input(taskValues) })
const SubtaskFields = Input({
  ...{ id: RowId, taskId: RowId, createdAt },
  title: CreateSubtask.properties.title,
  completed: Type.Boolean({ description: 'True or false' }),
})
const CommentFields = Input({ id: RowId, taskId: RowId, text: CreateComment.properties.text, ...ofRow })
const ReferencesFields = Input({ taskId: RowId, blockedByIds: RowIds, after: Type.Optional(Nullable(RowId)) })

type Of<Op extends string, S extends TObject> = { op: Op } & Static<S>

/** The description for a project without one. Needs ADMIN. */
export type ProjectOperation = Of<'project', typeof ProjectFields>
/** Creates a label, unless the project has a label with the same name. The case of letters does not matter. */
export type LabelOperation = Of<'label', typeof LabelFields>
/** Creates a custom field, or adds missing options to the field with the same key. Needs ADMIN. */
export type FieldOperation = Of<'field', typeof FieldFields>
/**
 * Changes the task with the id `ownId`, else the task with the external id, else creates a task with `id`.
 * With `ownId`, absent values are cleared; `fieldKeys` limits the custom fields that are cleared.
 * A new task gets `number` if `number` is higher than all numbers of the project.
 */
export type TaskOperation = Of<'task', typeof TaskFields>
export type SubtaskOperation = Of<'subtask', typeof SubtaskFields>
export type CommentOperation = Of<'comment', typeof CommentFields>
/** Adds tasks to the `blockedByIds` of a task, and places the task directly after another one, or first if null. */
export type ReferencesOperation = Of<'references', typeof ReferencesFields>

export type ImportOperation =
  | ProjectOperation
  | LabelOperation
  | FieldOperation
  | TaskOperation
  | SubtaskOperation
  | CommentOperation
  | ReferencesOperation

/** The schema of each operation's fields. The values of a task are fields of its operation, as in errors. */
export const operationSchemas: Record<ImportOperation['op'], TObject> = {
  project: ProjectFields,
  label: LabelFields,
  field: FieldFields,
  task: Input({ ...task, ...taskValues }),
  subtask: SubtaskFields,
  comment: CommentFields,
  references: ReferencesFields,
}

export const ImportResult = Type.Object({
  outcome: Type.Unsafe<'created' | 'updated' | 'unchanged' | 'rejected'>(Type.String()),
  id: Id('The id that the row has in the project'),
  message: Type.Optional(Type.String({ description: 'Why the operation was rejected, or changed nothing' })),
})
export type ImportResult = Static<typeof ImportResult>
