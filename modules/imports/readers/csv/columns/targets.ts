import { nearest } from '../../../../../src/schema/nearest.ts'

/**
 * The targets of columns: fields of a task, or `field.<key>`, a custom field. If a row has several columns for a field:
 * - `first`: the first text is used, the others become notes.
 * - `merged`: the texts become one value.
 * - `all`: all columns are read, also if their usual headers differ.
 */
const useOfColumns = {
  title: 'first',
  description: 'merged',
  status: 'first',
  list: 'first',
  priority: 'first',
  dueDate: 'first',
  remindAt: 'first',
  assignee: 'first',
  assigneeEmail: 'first',
  author: 'merged',
  authorEmail: 'merged',
  createdAt: 'first',
  completed: 'all',
  labels: 'all',
  parent: 'merged',
  blockedBy: 'all',
  comments: 'all',
  subtasks: 'all',
  notes: 'all',
  id: 'first',
  externalId: 'first',
} as const
export type TaskTarget = keyof typeof useOfColumns
export type Target = TaskTarget | `field.${string}`

const targets = Object.keys(useOfColumns) as TaskTarget[]

/** Returns undefined for a custom field. */
export const useOf = (target: Target): 'first' | 'merged' | 'all' | undefined =>
  isTask(target) ? useOfColumns[target] : undefined

const aliases = new Map<string, TaskTarget>([
  ['section', 'list'],
  ['key', 'id'],
  ['comment', 'comments'],
])
const fieldTarget = /^field\.[a-z][a-z0-9_]{0,39}$/

const isTask = (name: string): name is TaskTarget => Object.hasOwn(useOfColumns, name)
const isField = (name: string): name is `field.${string}` => fieldTarget.test(name)

export const targetNamed = (name: string): Target | undefined =>
  isTask(name) || isField(name) ? name : aliases.get(name)

/** Returns the error of a mapping with an unknown field, or undefined. */
export function columnsError(columns: Record<string, string | null> = {}): string | undefined {
  for (const [header, name] of Object.entries(columns)) {
    if (name === null || targetNamed(name)) continue
    const suggestion = name.startsWith('field.') ? undefined : nearest(name, targets)
    const end = suggestion ? `; did you mean ${suggestion}?` : ''
    return `mapping.columns.${header.slice(0, 100)} must be null, field.<key>, or one of ${targets.join(', ')}${end}`
  }
  return undefined
}
