import type { Entity, Rows } from '../../drizzle/entities.ts'
import type { Caller } from '../identity/caller.ts'
import type { OwedJob } from '../jobs/queue.ts'
import type { ToldPast } from './past.ts'

/**
 * The names of all facts, `noun.verb`. Each module adds its own here, so the list is closed: a misspelt one compiles
 * neither where it is decided nor where something is done about it.
 */
export interface Facts {}
export type FactType = keyof Facts
/** The facts about one entity: those that begin with its name. */
export type FactOf<E extends Entity> = Extract<FactType, `${E}.${string}`>

/**
 * One fact, as a rule decides it: what happened to which row. `after` is the row as it is then; `before` is the row that is
 * gone, or what it had in the fields that have changed. Events from before this hold all fields: see rows.ts.
 */
export interface Change<E extends Entity = Entity> {
  id: string
  projectId: string
  type: FactType
  entity: E
  entityId: string
  before: Partial<Rows[E]> | null
  after: Rows[E] | null
  /** The seq of the event in this project that it takes back. */
  undoes?: number | null
  /** Of an integration: values for the columns of its row that no event holds. Absent columns stay as they are. */
  untold?: object
}

/** A fact at its place in a project's history. */
export type StoredEvent = Change & { seq: number; actorId: string; at: string; batch?: number | null }

/** What a rule may know beside the state: who asks, when, and fresh ids. Passed in, so that rules stay pure. */
export interface Context {
  caller: Caller
  now: string
  newId(): string
  /** Of the first fact it is the order's own, so that the order can be found in the log. */
  newEventId(): string
  /** The caller's If-Match header: see precondition.ts. */
  ifMatch?: string
  /** What the command asked of the log. */
  past?: ToldPast
  /** Ids that its client made, and that something else got meanwhile. */
  claimed?: string[]
}

/** What a rule answers: the facts it wants committed (none when nothing changes) and the caller's answer. */
export interface Decision<T> {
  changes: Change[]
  answer: T
  /** They are what many commands decided one after another: the history shows that they belong together. */
  isBatch?: boolean
  /** The one fact says all of the answer, of a command that else keeps it. */
  isTold?: boolean
}

/** What later work a fact asks for: see workers/reactions.ts. Pure. */
export type React = (event: StoredEvent) => Pick<OwedJob, 'name' | 'data'>[]

type Fields<E extends Entity> = Omit<Rows[E], 'eventId'>
/** Where a fact happens: every ProjectState is a place. */
type Place = { readonly projectId: string }
type EntityOf<T extends FactType> = T extends `${infer E extends Entity}.${string}` ? E : never

const entitiesOf = new Map<FactType, Entity>()

/** The entity that a fact's name begins with: the same text each time, for a new one would be hashed at every look-up. */
function entityOf<T extends FactType>(type: T): EntityOf<T> {
  const known = entitiesOf.get(type)
  if (known) return known as EntityOf<T>
  const entity = type.slice(0, type.indexOf('.')) as EntityOf<T>
  entitiesOf.set(type, entity)
  return entity
}

/** A row that was not here: its change carries the row with the id of the event that made it. */
export function appeared<T extends FactType>(
  { projectId }: Place,
  context: Context,
  type: T,
  fields: Fields<EntityOf<T>>,
): Change<EntityOf<T>> & { after: Rows[EntityOf<T>] } {
  const id = context.newEventId()
  const after = { ...fields, eventId: id } as unknown as Rows[EntityOf<T>]
  return { id, projectId, type, entity: entityOf(type), entityId: after.id, before: null, after }
}

/** A row with some fields set. */
export function updated<T extends FactType>(
  { projectId }: Place,
  context: Context,
  type: T,
  before: Rows[EntityOf<T>],
  fields: Partial<Fields<EntityOf<T>>>,
): Change<EntityOf<T>> & { after: Rows[EntityOf<T>] } {
  const id = context.newEventId()
  const after = { ...before, ...fields, eventId: id }
  const had = whatChanged<Rows[EntityOf<T>]>(before, fields as Partial<Rows[EntityOf<T>]>)
  return { id, projectId, type, entity: entityOf(type), entityId: before.id, before: had, after }
}

/** What a row had in the fields that become others, and its event, which always does. */
function whatChanged<R extends { eventId: string }>(row: R, fields: Partial<R>): Partial<R> {
  const had: Partial<R> = {}
  for (const name in fields) if (row[name] !== fields[name]) had[name] = row[name]
  had.eventId = row.eventId
  return had
}

/** A row no longer here. */
export function removed<T extends FactType>(
  { projectId }: Place,
  context: Context,
  type: T,
  before: Rows[EntityOf<T>],
): Change<EntityOf<T>> {
  const entity = entityOf(type)
  return { id: context.newEventId(), projectId, type, entity, entityId: before.id, before, after: null }
}

/** The fields of `wanted` that differ from the row; null when there are none. Undefined means "keep". */
export function differing<R extends object>(row: R, wanted: Partial<R>): Partial<R> | null {
  const fields = Object.entries(wanted).filter(([k, v]) => v !== undefined && v !== row[k as keyof R])
  return fields.length ? (Object.fromEntries(fields) as Partial<R>) : null
}
