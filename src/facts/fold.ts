import { type ChildOfTask, type Entity, entityNames, type Rows } from '../../drizzle/entities.ts'
import { lists } from './children.ts'
import type { StoredEvent } from './facts.ts'
import { arrivedWith, rowAfter } from './rows.ts'

/** The rows of one project by their ids. */
export type Contents = { [E in Entity]: Map<string, Rows[E]> }

export const nothing = (): Contents =>
  Object.fromEntries(entityNames.map((entity) => [entity, new Map()])) as Contents

type Folded = Pick<StoredEvent, 'type' | 'entity' | 'entityId' | 'after'>

/**
 * What a project's events say is in it, one after another from its first: a row is what its last event left, a task
 * comes with what hangs on it and goes with it, so do tokens with their service account, and all goes with the project. Pure but for the contents, which it changes.
 */
export function fold(contents: Contents, event: Folded): Contents {
  const { entity, entityId } = event
  const row = rowAfter(event)
  const rows = contents[entity] as Map<string, Rows[Entity]>
  if (row) rows.set(entityId, row)
  else rows.delete(entityId)
  if (!row && entity === 'task') for (const [, child] of lists) dropOf(contents[child], entityId)
  if (!row && entity === 'service_account') dropTokensOf(contents, entityId)
  if (!row && entity === 'project') for (const name of entityNames) contents[name].clear()
  const along = arrivedWith(event)
  for (const [list, child] of lists) {
    const known = contents[child] as Map<string, Rows[ChildOfTask]>
    for (const one of along?.[list] ?? []) known.set(one.id, one)
  }
  return contents
}

function dropTokensOf({ token }: Contents, accountId: string): void {
  for (const [id, { userId }] of token) if (userId === accountId) token.delete(id)
}

function dropOf(rows: Map<string, Rows[ChildOfTask]>, taskId: string): void {
  for (const [id, row] of rows) if (row.taskId === taskId) rows.delete(id)
}
