import { isDeepStrictEqual } from 'node:util'
import type { Entity, EventType, Rows } from './entities.ts'

/**
 * One fact, as a rule decides it: what happened to which row. `after` is the row as it is then; `before` is the row that is
 * gone, or what it had in the fields that have changed. Events from before this hold all fields: see rows.ts.
 */
export interface EventDraft<E extends Entity = Entity> {
  id: string
  projectId: string
  type: EventType
  entity: E
  entityId: string
  before: Partial<Rows[E]> | null
  after: Rows[E] | null
  /** The seq of the event in this project that it takes back. */
  undoes?: number | null
  /** Values for the columns that no event holds. Absent columns stay as they are. */
  untold?: object
}

/** A fact at its place in a project's history. */
export type StoredEvent = EventDraft & { seq: number; actorId: string; at: string; batch?: number | null }

type Fields<E extends Entity> = Omit<Rows[E], 'eventId'>
type Place = { readonly projectId: string }
type Ids = { newEventId(): string }
type EntityOf<T extends EventType> = T extends `${infer E extends Entity}.${string}` ? E : never

const entitiesOf = new Map<EventType, Entity>()

/** The entity that a fact's name begins with: the same text each time, for a new one would be hashed at every look-up. */
function entityOf<T extends EventType>(type: T): EntityOf<T> {
  const known = entitiesOf.get(type)
  if (known) return known as EntityOf<T>
  const entity = type.slice(0, type.indexOf('.')) as EntityOf<T>
  entitiesOf.set(type, entity)
  return entity
}

/** A row that was not here: its change carries the row with the id of the event that made it. */
export function appeared<T extends EventType>(
  { projectId }: Place,
  ids: Ids,
  type: T,
  fields: Fields<EntityOf<T>>,
): EventDraft<EntityOf<T>> & { after: Rows[EntityOf<T>] } {
  const id = ids.newEventId()
  const after = { ...fields, eventId: id } as unknown as Rows[EntityOf<T>]
  return { id, projectId, type, entity: entityOf(type), entityId: after.id, before: null, after }
}

/** A row with some fields set. */
export function updated<T extends EventType>(
  { projectId }: Place,
  ids: Ids,
  type: T,
  before: Rows[EntityOf<T>],
  fields: Partial<Fields<EntityOf<T>>>,
): EventDraft<EntityOf<T>> & { after: Rows[EntityOf<T>] } {
  const id = ids.newEventId()
  const after = { ...before, ...fields, eventId: id }
  const had = whatChanged<Rows[EntityOf<T>]>(before, fields as Partial<Rows[EntityOf<T>]>)
  return { id, projectId, type, entity: entityOf(type), entityId: before.id, before: had, after }
}

/** What a row had in the fields that become others, and its event, which always does. */
function whatChanged<R extends { eventId: string }>(row: R, fields: Partial<R>): Partial<R> {
  const had: Partial<R> = {}
  for (const name in fields) if (!isSame(row[name], fields[name])) had[name] = row[name]
  had.eventId = row.eventId
  return had
}

/** A row no longer here. */
export function removed<T extends EventType>(
  { projectId }: Place,
  ids: Ids,
  type: T,
  before: Rows[EntityOf<T>],
): EventDraft<EntityOf<T>> {
  const entity = entityOf(type)
  return { id: ids.newEventId(), projectId, type, entity, entityId: before.id, before, after: null }
}

/** The fields of `wanted` that differ from the row; null when there are none. Undefined means "keep". */
export function differing<R extends object>(row: R, wanted: Partial<R>): Partial<R> | null {
  const fields: Partial<R> = {}
  let isChanged = false
  for (const name in wanted) {
    const value = wanted[name]
    if (value === undefined || isSame(value, row[name])) continue
    fields[name] = value
    isChanged = true
  }
  return isChanged ? fields : null
}

/** Whether two values of a field are equal: lists and JSON are compared by their contents. */
export const isSame = (one: unknown, other: unknown): boolean =>
  one === other || (typeof one === 'object' && one !== null && isDeepStrictEqual(one, other))
