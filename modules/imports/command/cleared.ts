import type { TaskRow } from '../../../drizzle/rows.ts'
import type { ProjectState } from '../../../src/actor/state.ts'
import { isEqual } from '../../../src/model/events.ts'
import type { TaskOperation } from './operations.ts'

/** The values of a new task. */
const cleared = {
  ...{ description: null, status: 'TODO', priority: 'MEDIUM', dueDate: null, remindAt: null },
  ...{ assigneeId: null, labelIds: [] },
} as const

/** Adds the change that clears the previous values, except values that somebody has changed since. */
export function withCleared(
  state: ProjectState,
  row: TaskRow,
  { values, previous: { fields, ...previous } = {} }: TaskOperation,
): TaskOperation['values'] {
  const names = Object.keys(previous) as (keyof typeof previous)[]
  const same = names.filter((name) => isEqual(row[name], previous[name]))
  const known = new Set(state.all('field').map(({ key }) => key))
  const keys = Object.keys(fields ?? {}).filter(
    (key) => known.has(key) && isEqual(row.fields?.[key], fields![key]),
  )
  const noFields = Object.fromEntries(keys.map((key) => [key, null]))
  return {
    ...Object.fromEntries(same.map((name) => [name, cleared[name]])),
    ...values,
    ...(keys.length > 0 && { fields: { ...noFields, ...values.fields } }),
  }
}
