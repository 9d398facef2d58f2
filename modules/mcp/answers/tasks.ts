import { headerOf, namedFields, taskFields } from '../../tasks/schema.ts'
import type { Names } from '../names.ts'
import { shortened } from './pages.ts'

export const details = ['lines', 'preview', 'full'] as const
export type Detail = (typeof details)[number]

const titleCharacters = 120
const previewCharacters = 200

export interface Task {
  id: string
  projectId: string
  title: string
  description: string | null
  fields: Record<string, unknown>
  claim: { by: { name: string | null }; until: string; seq: number } | null
  [field: string]: unknown
}

/** The fields that answers show by their own names: `namesIn` returns the others. */
const fieldsIn = (detail: Detail) =>
  taskFields.flatMap((one) => (one[1].lists === detail && !namedFields.includes(one) ? [one[0]] : []))
const inLines = ['number', ...fieldsIn('lines')]
const inPreview = [...inLines, ...fieldsIn('preview'), 'fields', 'updatedAt']

/** The maximum number of characters of all custom fields of a task, each of which may have 20,000 characters. */
const maxFieldCharacters = 3_000

/** Returns a task with short values of custom fields, and with the names of its people and labels. */
export function withNames(task: Task, names: Names): Task {
  const values = Object.entries(task.fields)
  const max = Math.floor(maxFieldCharacters / values.length)
  const short = (value: unknown) => (typeof value === 'string' ? shortened(value, max) : value)
  const fields = Object.fromEntries(values.map(([key, value]) => [key, short(value)]))
  return { ...task, ...namesIn(task, names), fields }
}

/** Returns a task as lists show it. Only `full` adds ids of people and labels, and empty fields. */
export function shownTask(given: Task, detail: Detail, names: Names): object {
  const task = withNames(given, names)
  const { id, title, claim } = task
  const description = task.description ?? ''
  if (detail === 'full') return { ...task, description: task.description && shortened(description) }
  const isPreview = detail === 'preview'
  return withoutEmpty({
    id,
    title: isPreview ? title : shortened(title, titleCharacters),
    ...Object.fromEntries((isPreview ? inPreview : inLines).map((name) => [name, task[name]])),
    ...namesIn(task, names),
    claimedBy: claim && (claim.by.name ?? 'a deleted account'),
    ...(isPreview && { description: shortened(description, previewCharacters) }),
  })
}

/** Returns the names of people and labels in a task, or in a part of a task. */
export const namesIn = (fields: Record<string, unknown>, names: Names): Record<string, unknown> =>
  Object.fromEntries(
    namedFields.flatMap(([field, uses]) => {
      const value = fields[field]
      const shown = [value ?? []].flat().map((id) => names.get(id as string) ?? id)
      return shown.length === 0 ? [] : [[headerOf(field, uses), Array.isArray(value) ? shown : shown[0]]]
    }),
  )

/** Returns the fields that are not null and not empty. */
export function withoutEmpty(fields: object): object {
  const isEmpty = (value: unknown) =>
    value === null ||
    value === undefined ||
    value === '' ||
    (typeof value === 'object' && Object.keys(value).length === 0)
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !isEmpty(value)))
}
