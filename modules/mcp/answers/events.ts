import type { Names } from './names.ts'
import { shortened } from './pages.ts'
import { headerOf, namedFields } from '../../tasks/schema.ts'
import { withoutEmpty } from './tasks.ts'

const maxCharacters = 200

export interface Event {
  id: string
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
  'id',
  'projectId',
  'taskId',
  'userId',
  'authorId',
  'author',
  'authorRemoved',
  'number',
  'createdAt',
  'updatedAt',
]

/** True if the event contains ids that the answer shows as names. */
export const hasNames = ({ before, after }: Event): boolean =>
  [before, after].some((row) => namedFields.some(([name]) => [row?.[name] ?? []].flat().length > 0))

/** Returns an event as answers show it: `batch` is the argument of `undo`. Long texts are cut. */
export function shownEvent(event: Event, names: Names): object {
  const { seq, type, entityId, taskId, actor, at, batch, undoes, before, after } = event
  return {
    ...{ seq, type, id: entityId },
    ...(taskId && taskId !== entityId && { taskId }),
    ...{ by: actor.name, at, batch: batch ?? seq, undoes },
    ...(before && after
      ? { changed: changesOf(shownFields(before, names), shownFields(after, names)) }
      : { row: withoutEmpty(Object.fromEntries(shownFields(after ?? before ?? {}, names))) }),
  }
}

function changesOf(before: [string, unknown][], after: [string, unknown][]): object {
  const present = new Map(after)
  return Object.fromEntries(before.map(([name, value]) => [name, [value, present.get(name)]]))
}

const shownFields = (fields: object, names: Names): [string, unknown][] =>
  Object.entries(fields).flatMap(([name, value]): [string, unknown][] => {
    const nameOf = (id: string | null) => id && (names.get(id) ?? id)
    if (omitted.includes(name)) return []
    const named = namedFields.find(([field]) => field === name)
    if (!named) return [[name, cutValue(value)]]
    return [[headerOf(...named), Array.isArray(value) ? value.map(nameOf) : nameOf(value)]]
  })

/** Cuts a long text. A long array becomes its length: `task.moved_in` contains all subtasks and comments of a task. */
function cutValue(value: unknown): unknown {
  if (typeof value === 'string') return shortened(value, maxCharacters)
  const text = JSON.stringify(value) ?? ''
  if (text.length <= maxCharacters) return value
  return Array.isArray(value) ? `${value.length} rows` : shortened(text, maxCharacters)
}
