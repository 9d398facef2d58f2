import { taskFields } from '../tasks/schema.ts'
import { shortened } from './pages.ts'

export const details = ['lines', 'preview', 'full'] as const
type Detail = (typeof details)[number]

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

/** Returns a task with all fields. Values of custom fields are cut. */
export function allFields(task: Task): Task {
  const values = Object.entries(task.fields)
  const max = Math.floor(maxFieldCharacters / values.length)
  const short = (value: unknown) => (typeof value === 'string' ? shortened(value, max) : value)
  return { ...task, fields: Object.fromEntries(values.map(([key, value]) => [key, short(value)])) }
}

/** Returns a task as lists show it, without empty fields. */
export function shownTask(given: Task, detail: Detail): object {
  const task = allFields(given)
  const { id, title, claim } = task
  const description = task.description ?? ''
  if (detail === 'full') return withoutEmpty({ ...task, description: shortened(description) })
  const isPreview = detail === 'preview'
  return withoutEmpty({
    id,
    title: isPreview ? title : shortened(title, titleCharacters),
    ...Object.fromEntries((isPreview ? inPreview : inLines).map((name) => [name, task[name]])),
    claimedBy: claim && (claim.by.name ?? 'a deleted account'),
    ...(isPreview && { description: shortened(description, previewCharacters) }),
  })
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

/** Returns an event as answers show it: `batch` is the argument of `undo`. Long texts are cut. */
export function shownEvent(event: Event): object {
  const { seq, type, entityId, taskId, actor, at, batch, undoes, failed, reason } = event
  const [before, after] = [shownFields(event.before), shownFields(event.after)]
  const pairOf = (name: string) => [name, [before[name], after[name]]]
  return {
    ...{ seq, type, id: entityId },
    ...(taskId && taskId !== entityId && { taskId }),
    ...{ by: actor.name, at, batch: batch ?? seq, undoes },
    ...(failed && { failed, reason }),
    ...(event.before && event.after
      ? { changed: Object.fromEntries(Object.keys(before).map(pairOf)) }
      : { row: withoutEmpty({ ...before, ...after }) }),
  }
}

function shownFields(fields: object | null): Record<string, unknown> {
  const kept = Object.entries(fields ?? {}).filter(([name]) => !omitted.includes(name))
  return Object.fromEntries(kept.map(([name, value]) => [name, shortValue(value)]))
}

/** Cuts a long text. A long array becomes its length: `task.moved_in` contains all subtasks and comments of a task. */
function shortValue(value: unknown): unknown {
  if (typeof value === 'string') return shortened(value, maxValueCharacters)
  const text = JSON.stringify(value) ?? ''
  if (text.length <= maxValueCharacters) return value
  return Array.isArray(value) ? `${value.length} rows` : shortened(text, maxValueCharacters)
}
