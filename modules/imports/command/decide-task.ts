import type { TaskRow } from '../../../drizzle/rows.ts'
import type { ProjectState } from '../../../src/actor/state.ts'
import type { RuleContext } from '../../../src/commands/command.ts'
import { decide } from '../../../src/commands/decide.ts'
import { fitsField } from '../../fields/values.ts'
import { createTask, updateTask } from '../../tasks/commands.ts'
import { externalIds } from '../../tasks/external-ids.ts'
import { creationOf, type Decided, update, withOrigin } from './decided.ts'
import type { TaskOperation } from './operations.ts'

export function decideTask(state: ProjectState, context: RuleContext, operation: TaskOperation): Decided {
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

type Values = TaskOperation['values']

/** Adds an empty value for each missing value, because an export of Docket contains all values of a task. */
function allValues(
  state: ProjectState,
  row: TaskRow,
  { values: { fields, ...values }, fieldKeys }: TaskOperation,
): Values {
  const empty = { description: null, dueDate: null, remindAt: null, assigneeId: null, labelIds: [] }
  // Responses and exports hide values that do not fit their field, so an import does not change these values.
  const inFile = state.all('field').filter(({ key }) => !fieldKeys || fieldKeys.includes(key))
  const shown = inFile.filter((field) => fitsField(field, row.fields?.[field.key]))
  const noFields = Object.fromEntries(shown.map(({ key }) => [key, null]))
  return { ...empty, ...values, fields: { ...noFields, ...fields } }
}
