import { headerOf, namedFields, taskFields } from '../../tasks/schema.ts'
import { cut, shortened } from './pages.ts'
import type { Names } from './names.ts'

export const details = ['lines', 'preview', 'full'] as const
export type Detail = (typeof details)[number]

const titleCharacters = 120
const previewCharacters = 200

export interface Task {
  id: string
  projectId: string
  number: number
  title: string
  description: string | null
  assigneeId: string | null
  labelIds: string[]
  fields?: Record<string, unknown>
  claim: { by: { name: string | null }; until: string } | null
  [field: string]: unknown
}

/** The fields that answers show by their own names: `namesIn` returns the others. */
const fieldsIn = (detail: Detail) =>
  taskFields.flatMap((one) => (one[1].lists === detail && !namedFields.includes(one) ? [one[0]] : []))
const inLines = ['number', ...fieldsIn('lines')]
const fieldsByDetail: Record<Exclude<Detail, 'full'>, string[]> = {
  lines: inLines,
  preview: [...inLines, ...fieldsIn('preview'), 'fields', 'updatedAt'],
}

/** The maximum number of characters of all custom fields of a task, each of which may have 20,000 characters. */
const maxFieldCharacters = 3_000

/** Returns the values of custom fields. Long texts are cut. */
export function shortFields(fields: Record<string, unknown> = {}): Record<string, unknown> {
  const max = Math.floor(maxFieldCharacters / Object.keys(fields).length)
  const short = (value: unknown) => (typeof value === 'string' ? shortened(value, max) : value)
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, short(value)]))
}

/** Returns a task with the names of its assignee and labels. Only `full` adds their ids and the empty fields. */
export function shownTask(given: Task, detail: Detail, names: Names): object {
  const task: Task = { ...given, fields: shortFields(given.fields) }
  const { id, title, description, claim } = task
  if (detail === 'full') {
    const { text, cutAt } = cut(description)
    return { ...task, ...namesIn(task, names), description: cutAt ? `${text}…` : text }
  }
  return withoutEmpty({
    id,
    title: shortened(title, detail === 'lines' ? titleCharacters : title.length),
    ...Object.fromEntries(fieldsByDetail[detail].map((name) => [name, task[name]])),
    ...namesIn(task, names),
    claimedBy: claim && (claim.by.name ?? 'a deleted account'),
    ...(detail === 'preview' && { description: shortened(description ?? '', previewCharacters) }),
  })
}

/** Returns the names of people and labels of a task. */
export const namesIn = (task: Task, names: Names) =>
  Object.fromEntries(
    namedFields.flatMap(([field, uses]) => {
      const ids = [task[field] as string | string[] | null].flat().filter((id) => id !== null)
      const shown = ids.map((id) => names.get(id) ?? id)
      return shown.length === 0
        ? []
        : [[headerOf(field, uses), Array.isArray(task[field]) ? shown : shown[0]]]
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
