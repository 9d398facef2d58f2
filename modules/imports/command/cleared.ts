import type { TaskRow } from '../../../drizzle/rows.ts'
import type { ProjectState } from '../../../src/actor/state.ts'
import { isEqual } from '../../../src/model/events.ts'
import type { TaskOperation } from './operations.ts'

/** The values of a new task without input. */
const defaults = {
  ...{ description: null, status: 'TODO', priority: 'MEDIUM', dueDate: null, remindAt: null },
  ...{ assigneeId: null, labelIds: [] },
} as const

/** Adds the default of each previous value to the values, unless somebody has changed the task's value since. */
export function withCleared(
  state: ProjectState,
  row: TaskRow,
  { values, previous: { fields, ...previous } = {} }: TaskOperation,
): TaskOperation['values'] {
  const names = Object.keys(previous) as (keyof typeof previous)[]
  const unchanged = names.filter((name) => isEqual(row[name], previous[name]))
  const known = new Set(state.all('field').map(({ key }) => key))
  const keys = Object.keys(fields ?? {}).filter(
    (key) => known.has(key) && isEqual(row.fields?.[key], fields![key]),
  )
  const noFields = Object.fromEntries(keys.map((key) => [key, null]))
  return {
    ...Object.fromEntries(unchanged.map((name) => [name, defaults[name]])),
    ...values,
    ...(keys.length > 0 && { fields: { ...noFields, ...values.fields } }),
  }
}
