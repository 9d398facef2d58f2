import { headerOf, namedFields, taskFields } from '../tasks/schema.ts'
import type { Names } from './names.ts'
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

const fieldsIn = (detail: Detail) =>
  taskFields.flatMap(([name, { lists }]) => (lists === detail ? [name] : []))
const inLines = ['number', ...fieldsIn('lines')]
const inPreview = [...inLines, ...fieldsIn('preview'), 'fields', 'updatedAt']

/** The maximum number of characters of all custom fields of a task, each of which may have 20,000 characters. */
const maxFieldCharacters = 3_000

/** Returns all fields of a task, also the names of people and labels. Values of custom fields are cut. */
export function allFields(task: Task, names: Names): Task {
  const values = Object.entries(task.fields)
  const max = Math.floor(maxFieldCharacters / values.length)
  const short = (value: unknown) => (typeof value === 'string' ? shortened(value, max) : value)
  const fields = Object.fromEntries(values.map(([key, value]) => [key, short(value)]))
  return { ...task, ...withNames(task, names), fields }
}

/** Returns a task as lists show it. Only `full` contains ids of people and labels, and empty fields. */
export function shownTask(given: Task, detail: Detail, names: Names): object {
  const task = allFields(given, names)
  const { id, title, claim } = task
  const description = task.description ?? ''
  if (detail === 'full') return { ...task, description: task.description && shortened(description) }
  const isPreview = detail === 'preview'
  const shown = (isPreview ? inPreview : inLines).map((name) => [name, task[name]])
  return withoutEmpty({
    id,
    title: isPreview ? title : shortened(title, titleCharacters),
    ...withNames(Object.fromEntries(shown), names),
    claimedBy: claim && (claim.by.name ?? 'a deleted account'),
    ...(isPreview && { description: shortened(description, previewCharacters) }),
  })
}

/** Returns fields with names of people and labels in place of ids. @param shown returns the shown value of another field */
export function withNames(
  fields: object,
  names: Names,
  shown = (value: unknown): unknown => value,
): Record<string, unknown> {
  const nameOf = (id: string | null) => id && (names.get(id) ?? id)
  const entries = Object.entries(fields).map(([name, value]): [string, unknown] => {
    const named = namedFields.find(([field]) => field === name)
    if (!named) return [name, shown(value)]
    return [headerOf(...named), Array.isArray(value) ? value.map(nameOf) : nameOf(value)]
  })
  return Object.fromEntries(entries)
}

/** Returns the fields that are not null and not empty. */
export function withoutEmpty(fields: object): object {
  const isEmpty = (value: unknown) =>
    value == null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0)
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !isEmpty(value)))
}

const maxValueCharacters = 200

export interface Event {
  id: string
  /** Only in the history of a task, which may contain events of several projects. */
  projectId?: string
  seq: number
  type: string
  entityId: string
  taskId: string | null
  batch: number | null
  undoes?: number
  failed?: boolean
  reason?: string | null
  /** Null for an event of the service itself or of a deleted account. */
  actor: { name: string | null }
  at: string
  before: Record<string, unknown> | null
  after: Record<string, unknown> | null
}

/** Fields that an agent does not need to understand a change. */
const omitted = [
  ...['id', 'projectId', 'taskId', 'userId', 'authorId', 'author', 'authorRemoved'],
  ...['number', 'createdAt', 'updatedAt', 'position'],
]

/** True if the event contains ids that the answer shows as names. */
export const hasNames = ({ before, after }: Event): boolean =>
  [before, after].some((row) => namedFields.some(([name]) => [row?.[name] ?? []].flat().length > 0))

/** Returns an event as answers show it: `batch` is the argument of `undo`. Long texts are cut. */
export function shownEvent(event: Event, names: Names): object {
  const { seq, type, entityId, taskId, actor, at, batch, undoes, failed, reason } = event
  const before = event.before && shownFields(event.before, names)
  const after = event.after && shownFields(event.after, names)
  const pairOf = (name: string) => [name, [before?.[name], after?.[name]]]
  return {
    ...{ seq, type, id: entityId },
    ...(taskId && taskId !== entityId && { taskId }),
    ...{ by: actor.name, at, batch: batch ?? seq, undoes },
    ...(failed && { failed, reason }),
    ...(before && after
      ? { changed: Object.fromEntries(Object.keys(before).map(pairOf)) }
      : { row: withoutEmpty(after ?? before ?? {}) }),
  }
}

function shownFields(fields: object, names: Names): Record<string, unknown> {
  const kept = Object.entries(fields).filter(([name]) => !omitted.includes(name))
  return withNames(Object.fromEntries(kept), names, shortValue)
}

/** Cuts a long text. A long array becomes its length: `task.moved_in` contains all subtasks and comments of a task. */
function shortValue(value: unknown): unknown {
  if (typeof value === 'string') return shortened(value, maxValueCharacters)
  const text = JSON.stringify(value) ?? ''
  if (text.length <= maxValueCharacters) return value
  return Array.isArray(value) ? `${value.length} rows` : shortened(text, maxValueCharacters)
}
