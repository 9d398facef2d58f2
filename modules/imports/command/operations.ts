import { type Static, type TObject, Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { isId } from '../../../src/id-format.ts'
import { definitionOf } from '../../../src/model/model.ts'
import type { ChildOfTask } from '../../../src/model/entities.ts'
import { checked, Input } from '../../../src/schema/input.ts'
import { Instant, Name, Nullable } from '../../../src/schema/text.ts'
import { validationError } from '../../../src/schema/validation.ts'
import { CreateField } from '../../fields/schema.ts'
import { CreateLabel } from '../../labels/schema.ts'
import { UpdateProject } from '../../projects/schema.ts'
import { CreateTask, UpdateTask, UpsertTask } from '../../tasks/schema.ts'

/** The maximum number of operations of a command. */
export const maxImported = 1_200

const isCanonicalId = (value: unknown) => typeof value === 'string' && isId(value)
const RowId = checked<string>(isCanonicalId, { type: 'string', format: 'uuid', description: 'An id' })

const createdAt = Type.Optional(Instant())
/** The time and the author of a row in its source. */
const origin = { createdAt, importedAuthor: Type.Optional(Nullable(Name(200, 'Grace Hopper'))) }

const maxNumber = 1_000_000_000
const { id: _, projectId: __, before, after, place, ...taskValues } = CreateTask.properties
const { description, textEdits } = UpdateProject.properties
const { name, color } = CreateLabel.properties
const { projectId: ___, ...field } = CreateField.properties

const TaskFields = Input({
  ...taskValues,
  ...origin,
  ...{ id: RowId, externalId: UpsertTask.properties.externalId, ownId: Type.Optional(RowId) },
  number: Type.Optional(
    Type.Integer({
      ...{ minimum: 1, maximum: maxNumber },
      description: `A whole number from 1 to ${maxNumber}`,
    }),
  ),
})
const schemas = {
  project: Input({ id: RowId, description, textEdits }),
  label: Input({ id: RowId, name, color, createdAt }),
  field: Input({ ...field, id: RowId, createdAt }),
  task: TaskFields,
  references: Type.Pick(UpdateTask, ['id', 'addBlockedByIds', 'after', 'place']),
}

type Of<Op extends keyof typeof schemas> = { op: Op } & Static<(typeof schemas)[Op]>

/** The description for a project without one, and settings. Needs ADMIN. */
export type ProjectOperation = Of<'project'>
/** Creates a label, unless the project has a label with the same name. The case of letters does not matter. */
export type LabelOperation = Of<'label'>
/** Creates a custom field, or adds missing options to the field with the same key. Needs ADMIN. */
export type FieldOperation = Of<'field'>
/**
 * Changes the task with the id `ownId`, else the task with the external id, else creates a task with `id`. A new task gets
 * `number` if `number` is higher than all numbers of the project.
 */
export type TaskOperation = Of<'task'>
/** Changes the child with the id, or creates it. */
export interface ChildOperation {
  op: ChildOfTask
  id: string
  taskId: string
  createdAt?: string
  importedAuthor?: string | null
  /** The fields that the entity declares. */
  [field: string]: unknown
}
/** Adds tasks to the `blockedByIds` of a task, and places the task in the order of the project. */
export type ReferencesOperation = Of<'references'>

export type ImportOperation =
  ProjectOperation | LabelOperation | FieldOperation | TaskOperation | ReferencesOperation | ChildOperation

export const isChild = (operation: ImportOperation): operation is ChildOperation => !(operation.op in schemas)

const checks = new Map<string, ReturnType<typeof TypeCompiler.Compile>>()

function checkOf({ op }: ImportOperation) {
  const known = checks.get(op)
  if (known) return known
  const ids = { id: RowId, taskId: RowId }
  const schema =
    op in schemas
      ? schemas[op as keyof typeof schemas]
      : Input({ ...definitionOf(op as ChildOfTask).asChild!.input.properties, ...origin, ...ids })
  const check = TypeCompiler.Compile(schema as TObject)
  checks.set(op, check)
  return check
}

/** The operations that passed the check. The preload and each attempt to commit check an operation again. */
const valid = new WeakSet<ImportOperation>()

export function isValid(operation: ImportOperation): boolean {
  if (valid.has(operation)) return true
  const { op: _, ...fields } = operation
  if (!checkOf(operation).Check(fields)) return false
  valid.add(operation)
  return true
}

/** @throws HttpError 400 */
export function requireValid(operation: ImportOperation): void {
  const { op: _, ...fields } = operation
  if (!isValid(operation)) throw validationError(checkOf(operation).Errors(fields))
}

export interface ImportResult {
  outcome: 'created' | 'updated' | 'unchanged' | 'rejected'
  /** The id that the row has in the project. */
  id: string
  /** Why the operation was rejected, or changed nothing. */
  message?: string
}
