import { parentKeys } from '../../src/model/definition.ts'
import type { Entity, Rows } from '../../src/model/entities.ts'
import type { StoredEvent } from '../../src/model/events.ts'
import { model, rowAfter } from '../../src/model/model.ts'
import { childrenMovedIn } from '../../src/log/rows.ts'

export type Contents = { [E in Entity]: Map<string, Rows[E]> }

export const emptyContents = (): Contents =>
  Object.fromEntries(model().names.map((entity) => [entity, new Map()])) as Contents

type Folded = Pick<StoredEvent, 'type' | 'entity' | 'entityId' | 'after'>

/** Applies an event to the contents of a project, including the children of a moved or deleted task. */
export function fold(contents: Contents, event: Folded): Contents {
  const { entity, entityId } = event
  const row = rowAfter(event)
  const rows = contents[entity] as Map<string, Rows[Entity]>
  if (row) rows.set(entityId, row)
  else rows.delete(entityId)
  if (!row) dropChildren(contents, entity, entityId)
  for (const [child, children] of Object.entries(childrenMovedIn(event) ?? {}))
    for (const one of children) contents[child as 'comment'].set(one.id, one as Rows['comment'])
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
