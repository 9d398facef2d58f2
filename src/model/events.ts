import { isDeepStrictEqual } from 'node:util'
import { nilId } from '../id-format.ts'
import type { Entity, EventType, Rows } from './entities.ts'
import type { OutboxJob } from '../jobs/queue.ts'

/**
 * An event that a rule returns. `after` is the row after the event, or null if it was deleted. `before` is null for a
 * new row, the deleted row, or the previous values of the changed fields. Events of early releases contain all fields.
 */
export interface EventDraft<E extends Entity = Entity> {
  id: string
  projectId: string
  type: EventType
  entity: E
  entityId: string
  before: Partial<Rows[E]> | null
  after: Rows[E] | null
  /** The seq of the event that this event undoes, in the same project. */
  undoes?: number | null
  /** Set if the service itself changes the row; else the actor is the caller. */
  actorId?: string
  /** New values of unlogged columns. Absent columns keep their values. */
  unlogged?: object
}

export type StoredEvent = EventDraft & { seq: number; actorId: string; at: string; batch?: number | null }

/** The actor of events that the service causes. */
export const serviceActor = nilId

/** True for an event that gave a task a new sort key and kept the order of the tasks. In SQL: `isRespacingSql`. */
export const isRespacing = ({ type, actorId }: Pick<StoredEvent, 'type' | 'actorId'>): boolean =>
  type === 'task.updated' && actorId === serviceActor

type Fields<E extends Entity> = Omit<Rows[E], 'eventId'>
type Place = { readonly projectId: string }
type Ids = { newEventId(): string }
type EntityOf<T extends EventType> = T extends `${infer E extends Entity}.${string}` ? E : never

const entityOf = <T extends EventType>(type: T) => type.slice(0, type.indexOf('.')) as EntityOf<T>

export function created<T extends EventType>(
  { projectId }: Place,
  ids: Ids,
  type: T,
  fields: Fields<EntityOf<T>>,
): EventDraft<EntityOf<T>> & { after: Rows[EntityOf<T>] } {
  const id = ids.newEventId()
  const after = { ...fields, eventId: id } as unknown as Rows[EntityOf<T>]
  return { id, projectId, type, entity: entityOf(type), entityId: after.id, before: null, after }
}

export function updated<T extends EventType>(
  { projectId }: Place,
  ids: Ids,
  type: T,
  before: Rows[EntityOf<T>],
  fields: Partial<Fields<EntityOf<T>>>,
): EventDraft<EntityOf<T>> & { after: Rows[EntityOf<T>] } {
  const id = ids.newEventId()
  const after = { ...before }
  // Faster than a second spread.
  for (const name in fields) after[name as 'eventId'] = (fields as Rows[EntityOf<T>])[name as 'eventId']
  after.eventId = id
  const had = previousValues<Rows[EntityOf<T>]>(before, fields as Partial<Rows[EntityOf<T>]>)
  return { id, projectId, type, entity: entityOf(type), entityId: before.id, before: had, after }
}

function previousValues<R extends { eventId: string }>(row: R, fields: Partial<R>): Partial<R> {
  const had: Partial<R> = {}
  for (const name in fields) if (!isEqual(row[name], fields[name])) had[name] = row[name] ?? (null as never)
  had.eventId = row.eventId
  return had
}

/** Events of this type change no row. */
export const observedType = 'task.ready'

/**
 * Returns an event that changes no row: `before` is empty, and `after` is the row with the id of its last change. The
 * commit, snapshots and undos leave it out.
 */
export function observed<T extends EventType & typeof observedType>(
  { projectId }: Place,
  ids: Ids,
  type: T,
  row: Rows[EntityOf<T>],
): EventDraft<EntityOf<T>> {
  const entity = entityOf(type)
  return { id: ids.newEventId(), projectId, type, entity, entityId: row.id, before: {}, after: row }
}

export function deleted<T extends EventType>(
  { projectId }: Place,
  ids: Ids,
  type: T,
  before: Rows[EntityOf<T>],
): EventDraft<EntityOf<T>> {
  const entity = entityOf(type)
  return { id: ids.newEventId(), projectId, type, entity, entityId: before.id, before, after: null }
}

/** The fields of `wanted` that differ from the row; null if there are none. Undefined fields are ignored. */
export function diff<R extends object>(row: R, wanted: Partial<R>): Partial<R> | null {
  const fields: Partial<R> = {}
  let isChanged = false
  for (const name in wanted) {
    const value = wanted[name]
    if (value === undefined || isEqual(value, row[name])) continue
    fields[name] = value
    isChanged = true
  }
  return isChanged ? fields : null
}

/** Compares two values of a field. Lists and JSON are compared by their contents; an absent value equals null. */
export const isEqual = (one: unknown, other: unknown): boolean =>
  one === other ||
  (one ?? null) === (other ?? null) ||
  (typeof one === 'object' && one !== null && isDeepStrictEqual(one, other))

/** The events that a rule returns, and the response. There are no events if nothing changes. */
export interface Decision<T> {
  changes: EventDraft[]
  answer: T
  /** True if several commands decided the events. All events then get the same batch number. */
  isBatch?: boolean
  /** True if the reply is not stored under an Idempotency-Key. The command must load facts: only then is its key looked up. */
  isProvisional?: boolean
}

/** Returns the jobs to run after an event. Pure. */
export type Reactions = (event: StoredEvent) => Pick<OutboxJob, 'name' | 'data'>[]
