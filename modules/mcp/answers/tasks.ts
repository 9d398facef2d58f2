import { cut, shortened } from './token-budget.ts'
import { partOf } from './tokens.ts'
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

const fieldsByDetail: Record<Exclude<Detail, 'full'>, string[]> = {
  lines: ['number', 'status', 'priority', 'dueDate'],
  preview: ['number', 'status', 'priority', 'dueDate', 'externalId', 'fields', 'blockedByIds', 'updatedAt'],
}

/** The most tokens of all custom fields of a task, whose values may have 20,000 characters. */
const maxFieldTokens = 1_000

/** Returns the values of custom fields. Long texts are cut. */
export function shortFields(fields: Record<string, unknown> = {}): Record<string, unknown> {
  const maxTokens = maxFieldTokens / Object.keys(fields).length
  const short = (value: unknown) => {
    const part = typeof value === 'string' ? partOf(value, 0, maxTokens) : value
    return part === value ? value : `${part}…`
  }
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

export const namesIn = ({ assigneeId, labelIds }: Pick<Task, 'assigneeId' | 'labelIds'>, names: Names) => ({
  ...(assigneeId && { assignee: names.get(assigneeId) ?? assigneeId }),
  ...(labelIds.length > 0 && { labels: labelIds.map((id) => names.get(id) ?? id) }),
})

/** Returns the fields that are not null and not empty. */
export function withoutEmpty(fields: object): object {
  const isEmpty = (value: unknown) =>
    value === null ||
    value === undefined ||
    value === '' ||
    (typeof value === 'object' && Object.keys(value).length === 0)
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !isEmpty(value)))
}
