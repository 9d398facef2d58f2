import type { ChildOfTask, Entity, Rows } from '../../src/model/entities.ts'
import { isEqual, type StoredEvent } from '../../src/model/events.ts'
import { definitionOf, personIdOf, rowAfter } from '../../src/model/model.ts'
import { childrenMovedIn, type ChangedFields, rowBefore } from '../../src/log/rows.ts'
import type { User } from '../accounts/user.ts'

export type People = ReadonlyMap<string, User>

export interface ReadEvent extends StoredEvent {
  taskId: string | null
  people: People
}

function shownRow(entity: Entity, row: Rows[Entity], people: People): object {
  const user = people.get(personIdOf(entity, row) ?? '')
  return definitionOf(entity).view.of(row, user && { ...user, nameTag: '' })
}

export function peopleIn(event: StoredEvent): string[] {
  const { entity, actorId } = event
  const [row, after] = [event.before ? rowBefore(event) : null, rowAfter(event)]
  const shown = childrenIn(event).flatMap(([child, rows]) => rows.map((one) => personIdOf(child, one)))
  return [actorId, row && personIdOf(entity, row), after && personIdOf(entity, after), ...shown].filter(
    (id) => id !== null,
  )
}

/** In the API, `before` and `after` are views, not rows. */
export function shownEvent(event: ReadEvent): object {
  const { seq, id, type, entity, entityId, taskId, batch = null, undoes, actorId, at, people } = event
  const actor = { id: actorId, name: people.get(actorId)?.name ?? null }
  const shown = (row: Rows[Entity] | null) => row && shownRow(entity, row, people)
  let [before, after] = [shown(rowBefore(event)), shown(rowAfter(event))]
  if (before && after) [before, after] = differences(before, after)
  if (after) after = withExtras(event, after)
  const undone = undoes ?? undefined
  return { seq, id, type, entity, entityId, taskId, batch, undoes: undone, actor, at, before, after }
}

function withExtras(event: ReadEvent, after: object): object {
  if (event.type === 'webhook.updated') return { ...after, changed: (event.after as ChangedFields).changed }
  if (event.type !== 'task.moved_in') return after
  const lists = childrenIn(event).map(([child, rows]) => [
    definitionOf(child).plural,
    rows.map((row) => shownRow(child, row, event.people)),
  ])
  return { ...after, ...Object.fromEntries(lists) }
}

const childrenIn = (event: StoredEvent) =>
  Object.entries(childrenMovedIn(event) ?? {}) as [ChildOfTask, Rows[ChildOfTask][]][]

function differences(before: object, after: object): [object, object] {
  const has = after as Record<string, unknown>
  const changed = Object.entries(before).filter(([name, value]) => !isEqual(value, has[name]))
  return [Object.fromEntries(changed), Object.fromEntries(changed.map(([name]) => [name, has[name]]))]
}
