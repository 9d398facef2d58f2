import { namedFields } from '../../tasks/schema.ts'
import type { Names } from '../names.ts'
import { shortened } from './pages.ts'
import { withNames, withoutEmpty } from './tasks.ts'

const maxCharacters = 200

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
  /** Null for an event of the service itself or of a deleted account. */
  actor: { name: string | null }
  at: string
  before: Record<string, unknown> | null
  after: Record<string, unknown> | null
}

/** Fields that an agent does not need to understand a change. */
const omitted = [
  ...['id', 'projectId', 'taskId', 'userId', 'authorId', 'author', 'authorRemoved'],
  ...['number', 'createdAt', 'updatedAt'],
]

/** True if the event contains ids that the answer shows as names. */
export const hasNames = ({ before, after }: Event): boolean =>
  [before, after].some((row) => namedFields.some(([name]) => [row?.[name] ?? []].flat().length > 0))

/** Returns an event as answers show it: `batch` is the argument of `undo`. Long texts are cut. */
export function shownEvent(event: Event, names: Names): object {
  const { seq, type, entityId, taskId, actor, at, batch, undoes } = event
  const before = event.before && shownFields(event.before, names)
  const after = event.after && shownFields(event.after, names)
  const pairOf = (name: string) => [name, [before?.[name], after?.[name]]]
  return {
    ...{ seq, type, id: entityId },
    ...(taskId && taskId !== entityId && { taskId }),
    ...{ by: actor.name, at, batch: batch ?? seq, undoes },
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
  if (typeof value === 'string') return shortened(value, maxCharacters)
  const text = JSON.stringify(value) ?? ''
  if (text.length <= maxCharacters) return value
  return Array.isArray(value) ? `${value.length} rows` : shortened(text, maxCharacters)
}
