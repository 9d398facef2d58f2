import type { ProjectState } from '../../../src/actor/state.ts'
import type { Command, RuleContext } from '../../../src/commands/command.ts'
import { decide } from '../../../src/commands/decide.ts'
import { created, type EventDraft } from '../../../src/model/events.ts'
import { conflict, idTaken, notFound } from '../../../src/responses/errors.ts'
import { caseless, parseInstant } from '../../../src/schema/text.ts'
import { updateComment } from '../../comments/commands.ts'
import { createField, updateField } from '../../fields/commands.ts'
import { createLabel } from '../../labels/commands.ts'
import { updateSubtask } from '../../subtasks/commands.ts'
import { createTask, updateTask } from '../../tasks/commands.ts'
import { externalIds } from '../../tasks/external-ids.ts'
import type {
  CommentOperation,
  FieldOperation,
  ImportOperation,
  ImportResult,
  LabelOperation,
  LinksOperation,
  SubtaskOperation,
  TaskOperation,
} from './operations.ts'

interface Decided extends ImportResult {
  change?: EventDraft
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
  label: decideLabel,
  field: decideField,
  task: decideTask,
  subtask: decideSubtask,
  comment: decideComment,
  links: decideLinks,
}

const unchanged = (id: string): Decided => ({ outcome: 'unchanged', id })
const creationOf = (id: string, change: object): Decided => ({
  outcome: 'created',
  id,
  change: change as EventDraft,
})

function update<Input extends { id: string }, Row>(
  state: ProjectState,
  context: RuleContext,
  command: Command<Input, Row>,
  input: Input,
): Decided {
  const [change] = decide(command, state, context, input).changes
  return change ? { outcome: 'updated', id: input.id, change } : unchanged(input.id)
}

function decideLabel(state: ProjectState, context: RuleContext, { op: _, ...label }: LabelOperation) {
  const wanted = caseless(label.name.trim())
  const same = state.all('label').find(({ name }) => caseless(name) === wanted)
  if (same) return unchanged(same.id)
  const { projectId } = state
  return creationOf(label.id, decide(createLabel, state, context, { ...label, projectId }).changes[0]!)
}

export const otherFieldType = (key: string, type: string) =>
  conflict(`The field ${key} of the project has the type ${type}`)

/** Adds missing options to an existing field of the type choice. */
function decideField(state: ProjectState, context: RuleContext, { op: _, ...field }: FieldOperation) {
  const { projectId } = state
  const same = state.all('field').find(({ key }) => key === field.key)
  if (!same)
    return creationOf(field.id, decide(createField, state, context, { ...field, projectId }).changes[0]!)
  if (same.type !== field.type) throw otherFieldType(same.key, same.type)
  const known = same.options ?? []
  const missing = (field.options ?? []).map((one) => one.trim()).filter((one) => !known.includes(one))
  if (missing.length === 0) return unchanged(same.id)
  return update(state, context, updateField, { id: same.id, options: [...known, ...missing] })
}

function decideTask(state: ProjectState, context: RuleContext, operation: TaskOperation): Decided {
  const { id, externalId, values } = operation
  const holder = state.fact(externalIds).holderOf(externalId.trim())
  if (holder) return update(state, context, updateTask, { ...values, id: holder.id })
  const { projectId } = state
  const input = { ...values, id, projectId, externalId }
  const [change] = decide(createTask, state, context, input).changes
  Object.assign(change!.after!, originOf(operation, context))
  return creationOf(id, change!)
}

/** The values that the row had in its source. */
function originOf(
  { createdAt, importedAuthor }: { createdAt?: string; importedAuthor?: string | null },
  { now }: RuleContext,
) {
  const at = (createdAt && parseInstant(createdAt)) || now
  return { createdAt: at, ...(importedAuthor && { importedAuthor: importedAuthor.trim() }) }
}

// A subtask or comment may get the id of a deleted one: the same item of the file, which an undo may have deleted.

function decideSubtask(state: ProjectState, context: RuleContext, operation: SubtaskOperation): Decided {
  const { id, title, completed } = operation
  if (isInTask(state, 'subtask', operation))
    return update(state, context, updateSubtask, { id, title, completed })
  const row = { id, taskId: operation.taskId, title: title.trim(), completed }
  return creationOf(
    id,
    created(state, context, 'subtask.created', { ...row, ...originOf(operation, context) }),
  )
}

/** The account that imports becomes the author. */
function decideComment(state: ProjectState, context: RuleContext, operation: CommentOperation): Decided {
  const { id, taskId } = operation
  const text = operation.text.trim()
  if (isInTask(state, 'comment', operation)) {
    // Another account that imports the same file may not edit the comment, and need not.
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

function decideLinks(state: ProjectState, context: RuleContext, { taskId, blockedByIds }: LinksOperation) {
  return update(state, context, updateTask, { id: taskId, addBlockedByIds: [...new Set(blockedByIds)] })
}
