import type { TObject, TProperties } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { ProjectState } from '../../../src/actor/state.ts'
import type { Command, RuleContext } from '../../../src/commands/command.ts'
import { decide } from '../../../src/commands/decide.ts'
import type { ChildOfTask } from '../../../src/model/entities.ts'
import { diff, type EventDraft } from '../../../src/model/events.ts'
import { definitionOf } from '../../../src/model/model.ts'
import { commandsOf } from '../../../src/module.ts'
import { columnsOf } from '../../../src/postgres/columns.ts'
import { idTaken, notFound } from '../../../src/responses/errors.ts'
import { caseless, parseInstant } from '../../../src/schema/text.ts'
import { validationError } from '../../../src/schema/validation.ts'
import { createField, updateField } from '../../fields/commands.ts'
import { fitsField, optionNamed } from '../../fields/values.ts'
import { createLabel } from '../../labels/commands.ts'
import { modules } from '../../modules.ts'
import { updateProject } from '../../projects/commands.ts'
import { createTask, updateTask } from '../../tasks/commands.ts'
import { externalIds } from '../../tasks/external-ids.ts'
import type {
  ChildOperation,
  FieldOperation,
  ImportOperation,
  ImportResult,
  LabelOperation,
  ProjectOperation,
  ReferencesOperation,
  TaskOperation,
} from './operations.ts'

interface Decided extends ImportResult {
  changes?: EventDraft[]
}
type Decide<Operation> = (state: ProjectState, context: RuleContext, operation: Operation) => Decided

/** Decides one operation of an import. @throws HttpError if the operation is rejected */
export function decideOperation(
  state: ProjectState,
  context: RuleContext,
  operation: ImportOperation,
): Decided {
  const decideOne: Decide<never> = deciders[operation.op as keyof typeof deciders] ?? decideChild
  return (decideOne as Decide<ImportOperation>)(state, context, operation)
}

const deciders = {
  project: decideProject,
  label: decideLabel,
  field: decideField,
  task: decideTask,
  references: (state: ProjectState, context: RuleContext, { op: _, ...change }: ReferencesOperation) =>
    update(state, context, updateTask, change),
}

const unchanged = (id: string): Decided => ({ outcome: 'unchanged', id })

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

/** Returns the event of a new row, with its time and author in the source. */
function creation(
  change: EventDraft | undefined,
  { createdAt, importedAuthor }: Origin,
  { now }: RuleContext,
): Decided {
  const at = (createdAt && parseInstant(createdAt)) || now
  const author = importedAuthor && { importedAuthor: importedAuthor.trim() }
  Object.assign(change!.after!, { createdAt: at }, author)
  return { outcome: 'created', id: change!.entityId, changes: [change!] }
}

function decideProject(state: ProjectState, context: RuleContext, given: ProjectOperation) {
  const { projectId: id, project } = state
  const description = project?.description ? undefined : given.description
  const textEdits = project?.textEdits ? undefined : given.textEdits
  if (!description && !textEdits) return unchanged(id)
  return update(state, context, updateProject, { id, description, textEdits })
}

function decideLabel(
  state: ProjectState,
  context: RuleContext,
  { op: _, createdAt, ...label }: LabelOperation,
) {
  const wanted = caseless(label.name.trim())
  const same = state.all('label').find(({ name }) => caseless(name) === wanted)
  if (same) return unchanged(same.id)
  const input = { ...label, projectId: state.projectId }
  return creation(decide(createLabel, state, context, input).changes[0], { createdAt }, context)
}

/** Adds missing options to an existing field of the type choice. Every value can become text. */
function decideField(
  state: ProjectState,
  context: RuleContext,
  { op: _, createdAt, ...field }: FieldOperation,
): Decided {
  const same = state.all('field').find(({ key }) => key === field.key)
  if (!same) {
    const input = { ...field, projectId: state.projectId }
    return creation(decide(createField, state, context, input).changes[0], { createdAt }, context)
  }
  const { id, type, options } = same
  if (type !== field.type && field.type !== 'text')
    return {
      ...unchanged(id),
      message: `The field of the project has the type ${type}, and not ${field.type}`,
    }
  const known = options ?? []
  const given = type === 'choice' ? (field.options ?? []).map((one) => one.trim()) : []
  const missing = given.filter((one) => optionNamed(known, one) === undefined)
  if (missing.length === 0) return unchanged(id)
  return update(state, context, updateField, { id, options: [...known, ...missing] })
}

function decideTask(state: ProjectState, context: RuleContext, operation: TaskOperation): Decided {
  const { projectId, lastNumber } = state
  const { op: _, ownId, number = 0, createdAt, importedAuthor, ...values } = operation
  const own = ownId === undefined ? undefined : state.row('task', ownId)
  const isOwn = own?.projectId === projectId
  const id = isOwn ? own.id : state.fact(externalIds).holderOf(values.externalId.trim())?.id
  if (id !== undefined) {
    const externalId = isOwn && values.externalId === `docket:${id}` ? null : values.externalId
    return update(state, context, updateTask, { ...shownValues(state, id, values), id, externalId })
  }
  const { changes } = decide(createTask, state, context, { ...values, projectId })
  if (number > lastNumber) Object.assign(changes[0]!.after!, { number })
  return creation(changes[0], { createdAt, importedAuthor }, context)
}

type TaskValues = Pick<TaskOperation, 'fields'>

/** Responses and exports hide values that do not fit their field, so an import does not clear these values. */
function shownValues<Values extends TaskValues>(state: ProjectState, id: string, values: Values): Values {
  if (!values.fields) return values
  const stored = state.requireRow('task', id).fields ?? {}
  const isHidden = (key: string) =>
    !fitsField(
      state.all('field').find((field) => field.key === key)!,
      stored[key],
    )
  const fields = Object.entries(values.fields).filter(([key, value]) => value !== null || !isHidden(key))
  return { ...values, fields: Object.fromEntries(fields) }
}

type ChildCommand = Command<{ id: string }, object>
const childCommands = new Map<string, ChildCommand>()

/** Returns a command of a child, such as `comment.create`. */
function commandOf(op: ChildOfTask, verb: 'create' | 'update'): ChildCommand | undefined {
  if (childCommands.size === 0)
    for (const one of commandsOf(modules)) childCommands.set(one.name, one as unknown as ChildCommand)
  return childCommands.get(`${op}.${verb}`)
}

const inputFieldsOf = ({ input }: ChildCommand): TProperties => (input as TObject).properties

/**
 * A child may get the id of a deleted row: an undo may have deleted the row of the same item. The account that imports
 * becomes the author. A new row also gets values that only the command for changes accepts.
 * @throws HttpError 404 if the task is not in the project, and 409 if another task has the child
 */
function decideChild(state: ProjectState, context: RuleContext, operation: ChildOperation): Decided {
  const { op, id, taskId, createdAt, importedAuthor, ...given } = operation
  if (state.row('task', taskId)?.projectId !== state.projectId) throw notFound('Task')
  const values = Object.entries(given).map(([key, value]): [string, unknown] => [
    key,
    typeof value === 'string' ? value.trim() : value,
  ])
  const [create, change] = [commandOf(op, 'create')!, commandOf(op, 'update')]
  const of = (command: ChildCommand) =>
    Object.fromEntries(values.filter(([key]) => key in inputFieldsOf(command)))
  const row = state.row(op, id)
  if (row) {
    if (row.taskId !== taskId) throw idTaken()
    // Only the author may edit a comment. Another account can still import the same text.
    const isChanged = diff<object>(row, Object.fromEntries(values)) !== null
    return change && isChanged ? update(state, context, change, { ...of(change), id }) : unchanged(id)
  }
  // Without the id, because the command rejects the id of a deleted row.
  const input = { ...of(create), taskId }
  if (!Value.Check(create.input as TObject, input))
    throw validationError(Value.Errors(create.input as TObject, input))
  const [created] = decide(create, state, context, input as never).changes
  const others = values.filter(([key]) => !(key in inputFieldsOf(create)))
  Object.assign(created!, { entityId: id })
  Object.assign(created!.after!, Object.fromEntries(others), { id })
  const hasAuthor = columnsOf(definitionOf(op).table).some(({ key }) => key === 'importedAuthor')
  return creation(created, { createdAt, ...(hasAuthor && { importedAuthor }) }, context)
}
