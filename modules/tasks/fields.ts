import type { TaskRow } from '../../drizzle/rows.ts'
import type { RuleContext } from '../../src/commands/command.ts'
import { changedValues } from '../fields/values.ts'
import type { ProjectState } from '../../src/actor/state.ts'
import type { CheckedState } from '../../src/model/definition.ts'
import { defaultsOf } from '../../src/model/fields.ts'
import { invalid } from '../../src/responses/errors.ts'
import { name } from './kinds.ts'
import { type FieldName, fields, type TaskChange, taskFields, type TaskInput, userFields } from './schema.ts'

export type Editable = Omit<TaskRow, 'id' | 'projectId' | 'number' | 'createdAt' | 'updatedAt' | 'eventId'>

const defaults: Omit<Editable, 'title'> = defaultsOf(fields)

type ToStored = (value: never) => unknown
/** The function that returns the stored form of an input. Null for inputs that are no fields, or that the rule sets. */
const storedForms = new Map<string, ToStored | null>([
  ...'id projectId before after place number attempts'.split(' ').map((key): [string, null] => [key, null]),
  ['title', name.stored!],
  ...taskFields.flatMap(([key, { kind }]): [string, ToStored][] =>
    kind?.stored ? [[key, kind.stored]] : [],
  ),
])

/**
 * Returns the fields of a row in their stored forms.
 * @param stored the stored custom fields of the task, to which the input's custom fields are added
 * @throws HttpError 400
 */
export function rowFieldsOf(
  input: Partial<Omit<TaskInput, 'id' | 'projectId'>> & Pick<TaskChange, 'attempts' | 'number'>,
  state: Pick<CheckedState, 'all'>,
  stored?: TaskRow['fields'],
): Partial<Editable> {
  const wanted: Partial<Editable> = {}
  for (const key in input) {
    const value = input[key as keyof typeof input]
    const toStored = storedForms.get(key)
    if (value === undefined || toStored === null) continue
    wanted[key as 'title'] = (toStored && value !== null ? toStored(value as never) : value) as string
  }
  if (input.fields) wanted.fields = changedValues(state, stored, input.fields)
  // A body with a number is a whole task that the client has read. Its `attempts` of 0 are no request to reset them.
  if (input.attempts === 0 && input.number === undefined) wanted.attempts = null
  return wanted
}

export const notAssignable = (name = 'assigneeId') =>
  invalid(name, 'must be the owner or a member of the project')

/** @throws HttpError 400 if a user of the task is not in the project */
export function requireAssignable(state: ProjectState, values: { [Name in FieldName]?: unknown }): void {
  for (const name of userFields) {
    const userId = values[name]
    if (typeof userId === 'string' && !state.roleOf(userId)) throw notAssignable(name)
  }
}

/** The row of a new task. @throws HttpError 400 */
export function newTask(
  state: ProjectState,
  { now }: RuleContext,
  id: string,
  input: Omit<TaskInput, 'id' | 'projectId'>,
) {
  requireAssignable(state, input)
  const fields = rowFieldsOf(input, state)
  const { dueDate, remindAt } = fields
  const row = {
    ...defaults,
    id,
    projectId: state.projectId,
    number: state.lastNumber + 1,
    title: '',
    createdAt: now,
    updatedAt: now,
  }
  // This loop is faster than a spread, because the row has most of these fields already.
  for (const key in fields) row[key as 'title'] = fields[key as 'title']!
  return dueDate || remindAt ? { ...row, ...timesOf(fields, now) } : row
}

export const remindAtPassed = () => invalid('remindAt', 'must be in the future')

/**
 * Checks the times in changed fields. If a client sets a due date that has passed, or reopens a task after its due
 * date, also returns a new `dueAfter`, so that no event `task.due` follows. `dueAfter` never decreases, so no due date
 * is recorded twice.
 * @throws HttpError 400
 */
export function timesOf(
  changed: Partial<TaskRow>,
  now: string,
  task?: TaskRow,
): Pick<TaskRow, 'dueAfter'> | undefined {
  const { remindAt, status, dueDate = task?.dueDate } = changed
  if (remindAt && remindAt <= now) throw remindAtPassed()
  const isReopened = status !== undefined && task?.status === 'DONE'
  if (!dueDate || dueDate > now || (changed.dueDate === undefined && !isReopened)) return undefined
  return task?.dueAfter && task.dueAfter >= dueDate ? undefined : { dueAfter: dueDate }
}
