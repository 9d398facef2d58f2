import type { Entity, Rows, IntegrationRows } from '../../drizzle/entities.ts'
import { type Integration, untold } from '../../drizzle/untold.ts'
import { type Children, lists } from './children.ts'
import type { Change } from './facts.ts'

type Carrying = Rows['task'] & Partial<Children>

/** What came into the project with a task. Moves from before it was said say nothing. */
export function arrivedWith({ type, after }: Pick<Change, 'type' | 'after'>): Partial<Children> | null {
  return type === 'task.moved_in' ? (after as Carrying | null) : null
}

/** The task that a fact is about, if it is about one. */
export function taskOf({ entity, entityId, before, after }: Omit<Change, 'id' | 'projectId'>): string | null {
  const { taskId = null } = (after ?? before) as { taskId?: string }
  return entity === 'task' ? entityId : taskId
}

/** The names of the fields that an event changed, where its row does not show them. */
export type Changed = { changed?: string[] }

/** The row that an event leaves, without what else the event carries; null when the row is deleted. */
export function rowAfter<E extends Entity>({ type, after }: Pick<Change<E>, 'type' | 'after'>) {
  if (!after || (type !== 'task.moved_in' && type !== 'webhook.updated')) return after
  const row = { ...after } as Carrying & Changed
  for (const [list] of lists) delete row[list]
  delete row.changed
  return row as Rows[E]
}

/** The part of an integration's row that events hold. */
export function toldOf<E extends Integration>(entity: E, row: IntegrationRows[E]): Rows[E] {
  const told = { ...row } as Record<string, unknown>
  for (const name of untold[entity]) delete told[name]
  return told as unknown as Rows[E]
}

/** The row that a fact found; null when there was none. Of a row that stays, `before` says only what has changed. */
export function rowBefore<E extends Entity>(change: Pick<Change<E>, 'type' | 'before' | 'after'>) {
  const { before } = change
  return before && ({ ...rowAfter(change), ...before } as Rows[E])
}
