import type { Entity, Rows } from '../../drizzle/entities.ts'
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

/** The row that a fact leaves; null when it is gone. */
export function rowAfter<E extends Entity>({ type, after }: Pick<Change<E>, 'type' | 'after'>) {
  if (type !== 'task.moved_in' || !after) return after
  const row = { ...after } as Carrying
  for (const [list] of lists) delete row[list]
  return row as Rows[E]
}

/** The row that a fact found; null when there was none. Of a row that stays, `before` says only what has changed. */
export function rowBefore<E extends Entity>(change: Pick<Change<E>, 'type' | 'before' | 'after'>) {
  const { before } = change
  return before && ({ ...rowAfter(change), ...before } as Rows[E])
}
