import type { Static } from '@sinclair/typebox'
import type { ChildOfTask } from '../../../src/model/entities.ts'
import type { FieldInput } from '../../fields/schema.ts'
import type { CreateLabel } from '../../labels/schema.ts'
import type { UpdateProject } from '../../projects/schema.ts'
import type { TaskChange, TaskInput } from '../../tasks/schema.ts'

/** The id is that of a row that the operation creates. The time and the author are those in the source. */
interface NewRow<Op extends string> {
  op: Op
  id: string
  createdAt?: string
  importedAuthor?: string | null
}

interface Inputs {
  /** The description for a project without one, and settings. Needs ADMIN. */
  project: Pick<Static<typeof UpdateProject>, 'description' | 'textEdits'>
  /** Creates a label, unless the project has a label with the same name. The case of letters does not matter. */
  label: Static<typeof CreateLabel>
  /** Creates a custom field, or adds missing options to the field with the same key. Needs ADMIN. */
  field: FieldInput
  /**
   * Changes the task with the id `ownId`, else the task with the external id, else creates a task with `id`. A new task
   * gets `number` if `number` is higher than all numbers of the project.
   */
  task: TaskInput & { externalId: string; ownId?: string; number?: number }
  /** Adds tasks to the `blockedByIds` of a task, and places the task in the order of the project. */
  references: Pick<TaskChange, 'addBlockedByIds' | 'after' | 'place'>
}
export type Operation<Op extends keyof Inputs> = NewRow<Op> & Omit<Inputs[Op], 'id' | 'projectId'>
/** Changes the child of a task with the id, or creates it. */
export interface ChildOperation extends NewRow<ChildOfTask> {
  taskId: string
  /** The fields that the entity declares. */
  [field: string]: unknown
}

export type ImportOperation = { [Op in keyof Inputs]: Operation<Op> }[keyof Inputs] | ChildOperation

export const isChild = (operation: ImportOperation): operation is ChildOperation => 'taskId' in operation

export interface ImportResult {
  outcome: 'created' | 'updated' | 'unchanged' | 'rejected'
  /** The id that the row has in the project. */
  id: string
  /** Why the operation was rejected, or changed nothing. */
  message?: string
}
