import type { ChildOfTask, Entity, Rows, StoredRows } from '../model/entities.ts'
import type { Change } from '../model/events.ts'
import { definitionOf, model } from '../model/model.ts'
import { columnsOf } from '../postgres/columns.ts'
import type { Children } from './children.ts'

/** What came into the project with a task, of each entity that the event names. */
export function arrivedWith({ type, after }: Pick<Change, 'type' | 'after'>): Partial<Children> | null {
  if (type !== 'task.moved_in') return null
  const lists = after as unknown as Record<string, Rows[ChildOfTask][] | undefined>
  const named = model().ofTask.flatMap(({ name, plural }) => (lists[plural] ? [[name, lists[plural]]] : []))
  return Object.fromEntries(named) as Partial<Children>
}

/** A task that moves in, with the children that come along. */
export function carrying(change: Change<'task'>, along: Children): Change<'task'> {
  const lists = model().ofTask.map(({ name, plural }) => [plural, along[name]])
  return { ...change, after: { ...change.after!, ...Object.fromEntries(lists) } }
}

/** The task that a fact is about, if it is about one. */
export function taskOf({ entity, entityId, before, after }: Omit<Change, 'id' | 'projectId'>): string | null {
  if (entity === 'task') return entityId
  return definitionOf(entity).parent === 'task' ? ((after ?? before) as { taskId: string }).taskId : null
}

/** The names of the fields that an event changed, where its row does not show them. */
export type Changed = { changed?: string[] }

/** The row that an event leaves, without what else the event carries; null when the row is deleted. */
export function rowAfter<E extends Entity>({ type, after }: Pick<Change<E>, 'type' | 'after'>) {
  if (!after || (type !== 'task.moved_in' && type !== 'webhook.updated')) return after
  const row = { ...after } as Record<string, unknown>
  for (const { plural } of model().ofTask) delete row[plural]
  delete row.changed
  return row as unknown as Rows[E]
}

/** A row of an event, with the defaults of fields that there were not yet. */
export function completed<R extends object>(entity: Entity, row: R): R {
  const missing = columnsOf(definitionOf(entity).table).filter(
    ({ key, fallback }) => !(key in row) && fallback !== undefined,
  )
  return { ...Object.fromEntries(missing.map(({ key, fallback }) => [key, fallback])), ...row }
}

/** The part of a stored row that events hold. */
export function toldOf<E extends Entity>(entity: E, row: StoredRows[E]): Rows[E] {
  const told = { ...(row as object) } as Record<string, unknown>
  for (const name of definitionOf(entity).untold ?? []) delete told[name]
  return told as unknown as Rows[E]
}

/** The row that a fact found; null when there was none. Of a row that stays, `before` says only what has changed. */
export function rowBefore<E extends Entity>(change: Pick<Change<E>, 'type' | 'before' | 'after'>) {
  const { before } = change
  return before && ({ ...rowAfter(change), ...before } as Rows[E])
}
