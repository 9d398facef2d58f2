import type { ChildOfTask, Entity, Rows, StoredRows } from '../model/entities.ts'
import type { EventDraft } from '../model/events.ts'
import { definitionOf, model, rowAfter, textLength } from '../model/model.ts'

export function childrenMovedIn(event: Pick<EventDraft, 'type' | 'after'>): Partial<Children> | null {
  const { type, after } = event
  if (type !== 'task.moved_in') return null
  const lists = after as unknown as Record<string, Rows[ChildOfTask][] | undefined>
  const named = model().ofTask.flatMap(({ name, plural }) => (lists[plural] ? [[name, lists[plural]]] : []))
  return Object.fromEntries(named) as Partial<Children>
}

export function withChildren(change: EventDraft<'task'>, children: Children): EventDraft<'task'> {
  const lists = model().ofTask.map(({ name, plural }) => [plural, children[name]])
  return { ...change, after: { ...change.after!, ...Object.fromEntries(lists) } }
}

export function taskIdOf(event: Omit<EventDraft, 'id' | 'projectId'>): string | null {
  const { entity, entityId, before, after } = event
  if (entity === 'task') return entityId
  return definitionOf(entity).parent === 'task' ? ((after ?? before) as { taskId: string }).taskId : null
}

export type ChangedFields = { changed?: string[] }
/** A part of `after` in the event `task.released`. */
export type Outcome = { outcome?: { failed: boolean; reason: string | null } }

/** Adds the values of columns that are newer than the event. */
export function withDefaults<R extends object>(entity: Entity, row: R): R {
  const added = model().defaults[entity]
  for (const key in added) if (!(key in row)) return { ...added, ...row }
  return row
}

export function loggedRow<E extends Entity>(entity: E, row: StoredRows[E]): Rows[E] {
  const logged = { ...(row as object) } as Record<string, unknown>
  for (const name of definitionOf(entity).unlogged ?? []) delete logged[name]
  return logged as unknown as Rows[E]
}

/** Returns the row before an event, or null for a new row. For an update, `before` contains only the changed fields. */
export const rowBefore = <E extends Entity>(change: Pick<EventDraft<E>, 'type' | 'before' | 'after'>) =>
  change.before && ({ ...rowAfter(change), ...change.before } as Rows[E])

export type Children = { [E in ChildOfTask]: Rows[E][] }
type Child = Rows[ChildOfTask]

export const maxMoved = { rows: 5_000, characters: 4_000_000 }
/** The maximum number of children in one event. A child with a longer text has an event of its own. */
const maxInEvent = { rows: 100, characters: 200_000 }

export const noChildren = () =>
  Object.fromEntries(model().ofTask.map(({ name }) => [name, []])) as unknown as Children

export const childEntries = (children: Children): [ChildOfTask, Child][] =>
  model().ofTask.flatMap(({ name }) => children[name].map((row): [ChildOfTask, Child] => [name, row]))

export function exceedsMoveLimit(children: Children): boolean {
  const rows = childEntries(children)
  const characters = rows.reduce((sum, [entity, row]) => sum + textLength(entity, row), 0)
  return rows.length > maxMoved.rows || characters > maxMoved.characters
}

/** Splits children into parts that fit one event each. Without children it returns one empty part. */
export function splitForEvents(children: Children): Children[] {
  const parts = [noChildren()]
  let [rows, characters] = [0, 0]
  for (const [entity, row] of childEntries(children)) {
    const length = textLength(entity, row)
    const isFull = rows === maxInEvent.rows || characters + length > maxInEvent.characters
    if (isFull && rows > 0) {
      parts.push(noChildren())
      rows = characters = 0
    }
    ;(parts.at(-1)![entity] as Child[]).push(row)
    rows++
    characters += length
  }
  return parts
}
