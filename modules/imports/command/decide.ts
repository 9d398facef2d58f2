import type { TaskRow } from '../../../drizzle/rows.ts'
import type { ProjectState } from '../../../src/actor/state.ts'
import type { Command, RuleContext } from '../../../src/commands/command.ts'
import { decide } from '../../../src/commands/decide.ts'
import { created, type EventDraft } from '../../../src/model/events.ts'
import { idTaken, notFound } from '../../../src/responses/errors.ts'
import { caseless, parseInstant } from '../../../src/schema/text.ts'
import { updateComment } from '../../comments/commands.ts'
import { createField, updateField } from '../../fields/commands.ts'
import { fitsField, optionNamed } from '../../fields/values.ts'
import { createLabel } from '../../labels/commands.ts'
import { updateProject } from '../../projects/commands.ts'
import { updateSubtask } from '../../subtasks/commands.ts'
import { createTask, updateTask } from '../../tasks/commands.ts'
import { externalIds } from '../../tasks/external-ids.ts'
import type {
  CommentOperation,
  FieldOperation,
  ImportOperation,
  ImportResult,
  LabelOperation,
  ProjectOperation,
  ReferencesOperation,
  SubtaskOperation,
  TaskOperation,
} from './operations.ts'

export interface Decided extends ImportResult {
  changes?: EventDraft[]
}
type Decide<Operation> = (state: ProjectState, context: RuleContext, operation: Operation) => Decided

/** Decides one operation of an import. @throws HttpError if the operation is rejected */
export function decideOperation(
  state: ProjectState,
  context: RuleContext,
  operation: ImportOperation,
): Decided {
  return (deciders[operation.op] as Decide<ImportOperation>)(state, context, operation)
}

const deciders: { [Op in ImportOperation['op']]: Decide<Extract<ImportOperation, { op: Op }>> } = {
  project: decideProject,
  label: decideLabel,
  field: decideField,
  task: decideTask,
  subtask: decideSubtask,
  comment: decideComment,
  references: decideReferences,
}

const unchanged = (id: string): Decided => ({ outcome: 'unchanged', id })
const creationOf = (id: string, change: object): Decided => ({
  outcome: 'created',
  id,
  changes: [change as EventDraft],
})

function update<Input extends { id: string }, Row>(
  state: ProjectState,
  context: RuleContext,
  command: Command<Input, Row>,
  input: Input,
): Decided {
  const { changes } = decide(command, state, context, input)
  return changes.length > 0 ? { outcome: 'updated', id: input.id, changes } : unchanged(input.id)
}

interface Origin {
  createdAt?: string
  importedAuthor?: string | null
}

/** Returns the time and the author of the row in its source. */
function originOf({ createdAt, importedAuthor }: Origin, { now }: RuleContext) {
  const at = (createdAt && parseInstant(createdAt)) || now
  return { createdAt: at, ...(importedAuthor && { importedAuthor: importedAuthor.trim() }) }
}

/** Returns the event of a new row, with its time and author in the source. */
function withOrigin(
  { changes }: { changes: EventDraft[] },
  origin: Origin,
  context: RuleContext,
): EventDraft {
  const [change] = changes
  Object.assign(change!.after!, originOf(origin, context))
  return change!
}

function decideProject(state: ProjectState, context: RuleContext, { description }: ProjectOperation) {
  const { projectId: id, project } = state
  return project?.description ? unchanged(id) : update(state, context, updateProject, { id, description })
}

function decideLabel(state: ProjectState, context: RuleContext, { op: _, ...label }: LabelOperation) {
  const wanted = caseless(label.name.trim())
  const same = state.all('label').find(({ name }) => caseless(name) === wanted)
  if (same) return unchanged(same.id)
  const input = { ...label, projectId: state.projectId }
  return creationOf(label.id, withOrigin(decide(createLabel, state, context, input), label, context))
}

/** Returns undefined for the type `text` too, because every value can become text. */
export const otherTypeOf = (
  existing: Pick<FieldOperation, 'type'>,
  { type }: Pick<FieldOperation, 'type'>,
) =>
  existing.type === type || type === 'text'
    ? undefined
    : `The field of the project has the type ${existing.type}, and not ${type}`

/** Adds missing options to an existing field of the type choice. */
function decideField(state: ProjectState, context: RuleContext, { op: _, ...field }: FieldOperation) {
  const same = state.all('field').find(({ key }) => key === field.key)
  if (!same) {
    const input = { ...field, projectId: state.projectId }
    return creationOf(field.id, withOrigin(decide(createField, state, context, input), field, context))
  }
  const message = otherTypeOf(same, field)
  if (same.type !== field.type) return { ...unchanged(same.id), ...(message && { message }) }
  const known = same.options ?? []
  const missing = (field.options ?? [])
    .map((one) => one.trim())
    .filter((one) => optionNamed(known, one) === undefined)
  if (missing.length === 0) return unchanged(same.id)
  return update(state, context, updateField, { id: same.id, options: [...known, ...missing] })
}

function decideTask(state: ProjectState, context: RuleContext, operation: TaskOperation): Decided {
  const { projectId, lastNumber } = state
  const { id, ownId, externalId, values, number = 0 } = operation
  const own = ownId === undefined ? undefined : state.row('task', ownId)
  if (own?.projectId === projectId) {
    const ownExternalId = externalId === `docket:${own.id}` ? null : externalId
    const input = { ...allValues(state, own, operation), id: own.id, externalId: ownExternalId }
    return update(state, context, updateTask, input)
  }
  const holder = state.fact(externalIds).holderOf(externalId.trim())
  if (holder) {
    const wanted =
      ownId === undefined ? values : allValues(state, state.requireRow('task', holder.id), operation)
    return update(state, context, updateTask, { ...wanted, id: holder.id })
  }
  const input = { ...values, id, projectId, externalId }
  const change = withOrigin(decide(createTask, state, context, input), operation, context)
  if (number > lastNumber) Object.assign(change.after!, { number })
  return creationOf(id, change)
}

/** Adds an empty value for each missing value, because an export of Docket contains all values of a task. */
function allValues(
  state: ProjectState,
  row: TaskRow,
  { values: { fields, ...values }, fieldKeys }: TaskOperation,
): TaskOperation['values'] {
  const empty = { description: null, dueDate: null, remindAt: null, assigneeId: null, labelIds: [] }
  // Responses and exports hide values that do not fit their field, so an import does not change these values.
  const inFile = state.all('field').filter(({ key }) => !fieldKeys || fieldKeys.includes(key))
  const shown = inFile.filter((field) => fitsField(field, row.fields?.[field.key]))
  const noFields = Object.fromEntries(shown.map(({ key }) => [key, null]))
  return { ...empty, ...values, fields: { ...noFields, ...fields } }
}

// A subtask or comment may get the id of a deleted row: an undo may have deleted the row of the same item.

function decideSubtask(state: ProjectState, context: RuleContext, operation: SubtaskOperation): Decided {
  const { id, title, completed } = operation
  if (isInTask(state, 'subtask', operation))
    return update(state, context, updateSubtask, { id, title, completed })
  const row = {
    id,
    taskId: operation.taskId,
    title: title.trim(),
    completed,
    ...originOf(operation, context),
  }
  return creationOf(id, created(state, context, 'subtask.created', row))
}

/** The account that imports becomes the author. */
function decideComment(state: ProjectState, context: RuleContext, operation: CommentOperation): Decided {
  const { id, taskId } = operation
  const text = operation.text.trim()
  if (isInTask(state, 'comment', operation)) {
    // Only the author may edit a comment. Another account can still import the same text.
    if (state.requireRow('comment', id).text === text) return unchanged(id)
    return update(state, context, updateComment, { id, text })
  }
  const row = { id, taskId, authorId: context.caller.userId, text, updatedAt: context.now }
  return creationOf(
    id,
    created(state, context, 'comment.created', { ...row, ...originOf(operation, context) }),
  )
}

/** @throws HttpError 404 if the task is not in the project, and 409 if another task has the child */
function isInTask(
  state: ProjectState,
  entity: 'subtask' | 'comment',
  { id, taskId }: { id: string; taskId: string },
): boolean {
  if (state.row('task', taskId)?.projectId !== state.projectId) throw notFound('Task')
  const row = state.row(entity, id)
  if (row && row.taskId !== taskId) throw idTaken()
  return row !== undefined
}

function decideReferences(
  state: ProjectState,
  context: RuleContext,
  { taskId, blockedByIds, after }: ReferencesOperation,
) {
  const place = after === undefined ? {} : after === null ? { place: 'first' as const } : { after }
  return update(state, context, updateTask, {
    id: taskId,
    ...(blockedByIds.length > 0 && { addBlockedByIds: [...new Set(blockedByIds)] }),
    ...place,
  })
}
