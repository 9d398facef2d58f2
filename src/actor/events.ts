import type { Entity, Rows } from '../../drizzle/entities.ts'
import type { OwedJob } from '../core/jobs.ts'

/** One fact, as a rule decides it: what happened to which row, with the row before and after. */
export interface Change<E extends Entity = Entity> {
  id: string
  projectId: string
  type: string
  entity: E
  entityId: string
  before: Rows[E] | null
  after: Rows[E] | null
}

/** A fact at its place in a project's history. */
export type StoredEvent = Change & { seq: number; actorId: string; at: string }

/** What a rule may know beside the state: who asks, when, and fresh ids. Passed in, so that rules stay pure. */
export interface Context {
  caller: string
  now: string
  newId(): string
  /** The caller's If-Match header: see precondition.ts. */
  ifMatch?: string
}

/** What a rule answers: the facts it wants committed (none when nothing changes) and the caller's answer. */
export interface Decision<T> {
  changes: Change[]
  answer: T
}

/** What later work a fact asks for: see workers/reactions.ts. Pure. */
export type React = (event: StoredEvent) => Pick<OwedJob, 'name' | 'data'>[]

type Fields<E extends Entity> = Omit<Rows[E], 'eventId'>
/** Where a fact happens: every ProjectState is a place. */
type Place = { readonly projectId: string }

/** A row that was not here: its change carries the row with the id of the event that made it. */
export function appeared<E extends Entity>(
  place: Place,
  context: Context,
  type: string,
  entity: E,
  fields: Fields<E>,
): Change<E> & { after: Rows[E] } {
  const id = context.newId()
  const after = { ...fields, eventId: id } as unknown as Rows[E]
  return { id, projectId: place.projectId, type, entity, entityId: after.id, before: null, after }
}

/** A row with some fields set. */
export function updated<E extends Entity>(
  place: Place,
  context: Context,
  type: string,
  entity: E,
  before: Rows[E],
  fields: Partial<Fields<E>>,
): Change<E> & { after: Rows[E] } {
  const id = context.newId()
  const after = { ...before, ...fields, eventId: id }
  return { id, projectId: place.projectId, type, entity, entityId: before.id, before, after }
}

/** A row no longer here. */
export function removed<E extends Entity>(
  place: Place,
  context: Context,
  type: string,
  entity: E,
  before: Rows[E],
): Change<E> {
  const { projectId } = place
  return { id: context.newId(), projectId, type, entity, entityId: before.id, before, after: null }
}

/** The fields of `wanted` that differ from the row; null when there are none. Undefined means "keep". */
export function differing<R extends object>(row: R, wanted: Partial<R>): Partial<R> | null {
  const fields = Object.entries(wanted).filter(([k, v]) => v !== undefined && v !== row[k as keyof R])
  return fields.length ? (Object.fromEntries(fields) as Partial<R>) : null
}
