import type { TaskItem } from '../items.ts'
import type { Previous, TaskOperation } from '../command/operations.ts'

/** The columns that a value can come from, by their names in the mapping. */
const columnsOf: Record<Exclude<keyof Previous, 'fields'>, string[]> = {
  description: ['description'],
  status: ['status', 'list', 'completed'],
  priority: ['priority'],
  dueDate: ['dueDate'],
  remindAt: ['remindAt'],
  assigneeId: ['assignee', 'assigneeEmail'],
  labelIds: ['labels', 'status', 'list'],
}

/**
 * Returns the values that earlier imports wrote and the file no longer contains. `undefined` if there are none.
 * @param imported the latest values from imports of the same source
 * @param columns the fields that the file has columns for; undefined: all fields
 */
export function previousOf(
  item: TaskItem,
  values: TaskOperation['values'],
  imported: Previous = {},
  columns?: string[],
): Previous | undefined {
  const isInFile = (some: string[]) => !columns || some.some((name) => columns.includes(name))
  const previous: Record<string, unknown> = {}
  for (const [name, from] of Object.entries(columnsOf) as [keyof typeof columnsOf, string[]][]) {
    const isFoot = name === 'description' && isFootOf(imported.description ?? '', item, values)
    if (values[name] === undefined && imported[name] != null && (isFoot || isInFile(from)))
      previous[name] = imported[name]
  }
  // The file has a reminder. Its time has passed, so `values` omits it.
  if (item.remindAt) delete previous.remindAt
  const fields = Object.entries(imported.fields ?? {}).filter(
    ([key]) => values.fields?.[key] === undefined && isInFile([`field.${key}`]),
  )
  if (fields.length > 0) previous.fields = Object.fromEntries(fields)
  return Object.keys(previous).length > 0 ? previous : undefined
}

/** True if each line of the description is for a value that the task now has, such as a new member as assignee. */
function isFootOf(
  description: string,
  { blockedBy, parent }: TaskItem,
  { assigneeId, fields = {} }: TaskOperation['values'],
): boolean {
  const names = Object.keys(fields)
  if (assigneeId) names.push('Assignee')
  if (blockedBy?.length) names.push('Blocked by')
  if (parent) names.push('Parent')
  return description.split('\n').every((line) => names.some((name) => line.startsWith(`${name}: `)))
}
