import type { ChildOfTask, Entity, Rows, StoredRows } from '../model/entities.ts'
import type { EventDraft } from '../model/events.ts'
import { definitionOf, model } from '../model/model.ts'
import { columnsOf } from '../postgres/columns.ts'
import type { Children } from './children.ts'

/** The children that came into the project with a task. */
export function arrivedWith({ type, after }: Pick<EventDraft, 'type' | 'after'>): Partial<Children> | null {
  if (type !== 'task.moved_in') return null
  const lists = after as unknown as Record<string, Rows[ChildOfTask][] | undefined>
  const named = model().ofTask.flatMap(({ name, plural }) => (lists[plural] ? [[name, lists[plural]]] : []))
  return Object.fromEntries(named) as Partial<Children>
}

export function carrying(change: EventDraft<'task'>, along: Children): EventDraft<'task'> {
  const lists = model().ofTask.map(({ name, plural }) => [plural, along[name]])
  return { ...change, after: { ...change.after!, ...Object.fromEntries(lists) } }
}

export function taskOf({
  entity,
  entityId,
  before,
  after,
}: Omit<EventDraft, 'id' | 'projectId'>): string | null {
  if (entity === 'task') return entityId
  return definitionOf(entity).parent === 'task' ? ((after ?? before) as { taskId: string }).taskId : null
}

export type Changed = { changed?: string[] }

/** The row that an event leaves, without what else the event carries; null when the row is deleted. */
export function rowAfter<E extends Entity>({ type, after }: Pick<EventDraft<E>, 'type' | 'after'>) {
  if (!after || (type !== 'task.moved_in' && type !== 'webhook.updated')) return after
  const row = { ...after } as Record<string, unknown>
  for (const { plural } of model().ofTask) delete row[plural]
  delete row.changed
  return row as unknown as Rows[E]
}

/** A row of an event, with the defaults of fields that there were not yet. */
export function completed<R extends object>(entity: Entity, row: R): R {
  const columns = columnsOf(definitionOf(entity).table).filter(({ fallback }) => fallback !== undefined)
  return { ...Object.fromEntries(columns.map(({ key, fallback }) => [key, fallback])), ...row }
}

export function toldOf<E extends Entity>(entity: E, row: StoredRows[E]): Rows[E] {
  const told = { ...(row as object) } as Record<string, unknown>
  for (const name of definitionOf(entity).unlogged ?? []) delete told[name]
  return told as unknown as Rows[E]
}

/** The row before an event; null when there was none. Of a row that stays, `before` holds only the changed fields. */
export const rowBefore = <E extends Entity>(change: Pick<EventDraft<E>, 'type' | 'before' | 'after'>) =>
  change.before && ({ ...rowAfter(change), ...change.before } as Rows[E])
