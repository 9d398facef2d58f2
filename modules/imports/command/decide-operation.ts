import type { ProjectState } from '../../../src/actor/state.ts'
import type { RuleContext } from '../../../src/commands/command.ts'
import { decide } from '../../../src/commands/decide.ts'
import { created } from '../../../src/model/events.ts'
import { idTaken, notFound } from '../../../src/responses/errors.ts'
import { optionNamed } from '../../fields/values.ts'
import { caseless } from '../../../src/schema/text.ts'
import { updateComment } from '../../comments/commands.ts'
import { createField, updateField } from '../../fields/commands.ts'
import { createLabel } from '../../labels/commands.ts'
import { updateProject } from '../../projects/commands.ts'
import { updateSubtask } from '../../subtasks/commands.ts'
import { updateTask } from '../../tasks/commands.ts'
import { decideTask } from './decide-task.ts'
import { creationOf, type Decided, originOf, unchanged, update, withOrigin } from './decided.ts'
import type {
  CommentOperation,
  FieldOperation,
  ImportOperation,
  LabelOperation,
  LinksOperation,
  PlaceOperation,
  ProjectOperation,
  SubtaskOperation,
} from './operations.ts'

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
  links: decideLinks,
  place: decidePlace,
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

// A subtask or comment may get the id of a deleted row: an undo may have deleted the row of the same item.

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

function decideLinks(state: ProjectState, context: RuleContext, { taskId, blockedByIds }: LinksOperation) {
  return update(state, context, updateTask, { id: taskId, addBlockedByIds: [...new Set(blockedByIds)] })
}

function decidePlace(state: ProjectState, context: RuleContext, { taskId, after }: PlaceOperation) {
  return update(state, context, updateTask, {
    id: taskId,
    ...(after ? { after } : { place: 'first' as const }),
  })
}
