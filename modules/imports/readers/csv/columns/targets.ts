import { nearest } from '../../../../../src/schema/nearest.ts'

/** The fields of a task that a column can fill. Also `field.<key>`, for a custom field. */
export const targets = [
  'title',
  'description',
  'status',
  'list',
  'priority',
  'dueDate',
  'remindAt',
  'assignee',
  'assigneeEmail',
  'author',
  'authorEmail',
  'createdAt',
  'completed',
  'labels',
  'parent',
  'blockedBy',
  'comments',
  'subtasks',
  'notes',
  'id',
  'externalId',
] as const
export type TaskTarget = (typeof targets)[number]
export type Target = TaskTarget | `field.${string}`

const aliases = new Map<string, TaskTarget>([
  ['section', 'list'],
  ['key', 'id'],
  ['comment', 'comments'],
])
const fieldTarget = /^field\.[a-z][a-z0-9_]{0,39}$/

const isTask = (name: string): name is TaskTarget => (targets as readonly string[]).includes(name)
const isField = (name: string): name is `field.${string}` => fieldTarget.test(name)

export const targetNamed = (name: string): Target | undefined =>
  isTask(name) || isField(name) ? name : aliases.get(name)

/** Returns the error of a mapping with an unknown field, or undefined. */
export function columnsError(columns: Record<string, string | null> = {}): string | undefined {
  for (const [header, name] of Object.entries(columns)) {
    if (name === null || targetNamed(name)) continue
    const suggestion = name.startsWith('field.') ? undefined : nearest(name, [...targets])
    const end = suggestion ? `; did you mean ${suggestion}?` : ''
    return `mapping.columns.${header.slice(0, 100)} must be null, field.<key>, or one of ${targets.join(', ')}${end}`
  }
  return undefined
}
