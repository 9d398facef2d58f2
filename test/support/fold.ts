import { parentKeys } from '../../src/model/definition.ts'
import type { Entity, Rows } from '../../src/model/entities.ts'
import type { StoredEvent } from '../../src/model/events.ts'
import { model } from '../../src/model/model.ts'
import { childrenMovedIn, rowAfter } from '../../src/log/rows.ts'

export type Contents = { [E in Entity]: Map<string, Rows[E]> }

export const emptyContents = (): Contents =>
  Object.fromEntries(model().names.map((entity) => [entity, new Map()])) as Contents

type Folded = Pick<StoredEvent, 'type' | 'entity' | 'entityId' | 'after'>

/**
 * What a project's events say is in it, one after another from its first: a row is what its last event left, a task
 * comes with what hangs on it, and a row goes with its parent, all with the project. Pure but for the contents, which it changes.
 */
export function fold(contents: Contents, event: Folded): Contents {
  const { entity, entityId } = event
  const row = rowAfter(event)
  const rows = contents[entity] as Map<string, Rows[Entity]>
  if (row) rows.set(entityId, row)
  else rows.delete(entityId)
  if (!row) dropChildren(contents, entity, entityId)
  for (const [child, along] of Object.entries(childrenMovedIn(event) ?? {}))
    for (const one of along) contents[child as 'comment'].set(one.id, one as Rows['comment'])
  return contents
}

function dropChildren(contents: Contents, entity: Entity, id: string): void {
  for (const { name, parent } of model().all) {
    if (entity === 'project') contents[name].clear()
    if (parent !== entity) continue
    const key = parentKeys[parent]
    for (const [childId, row] of contents[name])
      if ((row as Record<string, unknown>)[key] === id) contents[name].delete(childId)
  }
}
