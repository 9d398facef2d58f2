import { type TObject, Type } from '@sinclair/typebox'
import type { PgTable } from 'drizzle-orm/pg-core'
import { type ProjectCaller, requireRole, requireScope, type Role, scopeOfWrite } from '../identity/rights.ts'
import type { HttpError } from '../responses/errors.ts'
import type { ChildOfTask, Entities, Entity, Rows, StoredRows } from './entities.ts'
import type { StoredEvent, EventDraft } from './events.ts'
import type { View } from './view.ts'
import type { Sql } from '../postgres/database.ts'

export type AuthorizeUndo = (projectCaller: ProjectCaller, event: StoredEvent) => void

/**
 * The verb of the inverse event, and a check of the caller's rights. A function means that the event cannot be undone,
 * and returns the error.
 */
export type UndoRule<Verb extends string = string> = { by: Verb; admit: AuthorizeUndo } | (() => HttpError)

export interface Reference {
  to: Entity
  /**
   * When a task moves, a reference is dropped, or replaced by the target project's row with the same text in `by`,
   * without regard to case. If no such row exists, the reference is dropped, or a copy of the row is created.
   */
  onMove: 'drop' | { by: string; creates?: true }
  /** The maximum number of ids in a list. */
  max?: number
  values?: KeyedValues
}

/** The column contains an object of values. A value is shown while the project has a row of `to` that accepts it. */
export interface KeyedValues {
  /** The columns of `to` with the key and the type of a value. */
  key: string
  type: string
  fits(row: never, value: unknown): boolean
  /** The same in SQL: true if row `r` accepts `x.value`. */
  fitsSql: string
}

/** The parent of a row. The row is deleted, restored and purged together with its parent. */
export type Parent = 'project' | 'task' | 'service_account'

export const parentKeys = { project: 'projectId', task: 'taskId', service_account: 'userId' } as const

/**
 * Compares a row with the other rows of its project. `before` is undefined for a row that is new in the project.
 * @throws HttpError 409
 */
type Check<Row> = (row: Row, before: Row | undefined, state: CheckedState) => void

/** Returns the fields of a child that clients can set, from the inputs of the commands that create and change it. */
export function childInput(create: TObject, update: TObject): TObject {
  const { id: _, taskId: __, ...fields } = { ...create.properties, ...update.properties }
  return Type.Object(fields)
}

/** How files, searches and agents show a child of a task. */
interface ChildParts<Row> {
  /** The column with the text that searches find. Answers for agents may cut this text. */
  text: string & keyof Row
  /** The fields of the inputs of its commands. Imports set these fields, except references to other rows. */
  input: TObject
  /**
   * Returns a child as a part of a cell of a CSV file. Without this function, the part is a line of JSON with
   * all values, which imports read. Another form needs code of its own in `modules/imports/readers/csv`.
   * @param personOf returns a member of the project by id
   */
  cell?(shown: never, personOf: (id: string) => { name: string; email?: string } | undefined): string
}

/** The declaration of an entity. Every list of entities in the service is derived from these declarations. */
export interface EntityDefinition<E extends Entity = Entity> {
  name: E
  noun: string
  about: string
  /** The field of an event that lists rows of this entity, such as `subtasks` in the event of a moved task. */
  plural: string
  table: PgTable
  parent: Parent | null
  /** `on demand`: loaded by a fact for single groups of commands, because the rows rarely change and contain secrets. */
  load: 'with project' | 'by row' | 'on demand'
  view: View<Rows[E]>
  /** Only for a child of a task. */
  asChild?: ChildParts<Rows[E]>
  person?: string & keyof Rows[E]
  events: Record<string, UndoRule>
  references?: Record<string, Reference>
  /** Only for tasks: the columns with the id of a member. When the member is removed, a worker sets these columns to null. */
  users?: readonly (string & keyof Rows[E])[]
  /** Columns that events do not contain: secrets, and values that change without an event. */
  unlogged?: readonly string[]
  isDeletedByWorker?: boolean
  /** Nullable columns that most rows leave out: see `isPlainRow`. An insert without them costs Postgres less. */
  optionalColumns?: readonly string[]
  /** Checks by column: each runs if a new, changed, restored or moved row has a new value in the column. */
  checks?: { [Column in keyof Rows[E]]?: Check<Rows[E]> }
  /** The maximum number of rows in a project. Needs `load: 'with project'`. */
  maxRows?: number
  /**
   * Returns the values that an undo writes. Without this function, an undo writes the logged `values`.
   * @param row the current row, or undefined for a deleted row
   */
  restored?(values: Partial<Rows[E]>, row: Rows[E] | undefined): Partial<Rows[E]>
  /** The facts that rules and `checks` need for a command's input, or for a row that an undo or a move writes. */
  factsFor?(fields: Partial<Rows[E]>): FactQuery[]
  /** The data that a move needs from the project that the row leaves. */
  factsToLeave?(row: Rows[E]): FactQuery[]
}

/** The state of a project before the checked event. */
export interface CheckedState {
  readonly lastNumber: number
  row<O extends Entity>(entity: O, id: string): StoredRows[O] | undefined
  has(entity: Entity, id: string): boolean
  all<O extends Entity>(entity: O): StoredRows[O][]
  fact<F extends Fact>(kind: FactKind<F, never>): F
}

type CompleteDefinition<E extends Entity> = EntityDefinition<E> & {
  events: { [Verb in Entities[E]['event']]: UndoRule<Entities[E]['event']> }
} & (E extends ChildOfTask ? { asChild: ChildParts<Rows[E]> } : object) &
  (E extends 'task' ? object : { users?: never })
type DerivedNames = 'noun' | 'plural'

/** Defines an entity. The noun and the plural follow from its name, unless the definition states them. */
export function entity<E extends Entity>(
  definition: Omit<CompleteDefinition<E>, DerivedNames> & Partial<Pick<CompleteDefinition<E>, DerivedNames>>,
): CompleteDefinition<E> {
  const { name } = definition
  const noun = (name.charAt(0).toUpperCase() + name.slice(1)).replaceAll('_', ' ')
  return { noun, plural: `${name}s`, ...definition } as unknown as CompleteDefinition<E>
}

const byRole =
  (least: Role): AuthorizeUndo =>
  ({ caller, role }) => {
    requireRole(role, least, 'Project')
    requireScope(caller, scopeOfWrite(least))
  }

export const byEditor = byRole('EDITOR')
export const byAdmin = byRole('ADMIN')

/** Only an ADMIN can restore what another user deleted: an undo must not bypass moderation. */
export const byDeleterOrAdmin: AuthorizeUndo = (projectCaller, event) =>
  (event.actorId === projectCaller.caller.userId ? byEditor : byAdmin)(projectCaller, event)

export const standardEvents = {
  created: { by: 'deleted', admit: byEditor },
  updated: { by: 'updated', admit: byEditor },
  deleted: { by: 'created', admit: byDeleterOrAdmin },
} as const

/** Data about a project that rules need besides rows, such as which external ids are taken. Loaded for each group of commands. */
export type Fact = object

type PutRow = (entity: Entity, id: string, row: { id: string }) => void

/** Loads one kind of fact. The object itself is the key of the kind. */
export interface FactKind<F extends Fact = Fact, Wanted = unknown> {
  create(): F
  /** Returns a copy on which operations can be tried. Without this function, forks of the state share the fact. */
  copy?(fact: F): F
  /** Updates the data for an event of the group. */
  apply?(fact: F, change: EventDraft): void
  /**
   * Adds the data for `wanted`, as of the project's committed version. Returns the ids of tasks to load as rows.
   * @param put adds a row of an entity with `load: 'on demand'`
   */
  load(sql: Sql, projectId: string, fact: F, wanted: Wanted[], put: PutRow): Promise<string[] | void>
}

export interface FactQuery {
  kind: FactKind<never, never>
  wanted: unknown
}

export const factQuery = <F extends Fact, Wanted>(kind: FactKind<F, Wanted>, wanted: Wanted): FactQuery => ({
  kind: kind as unknown as FactKind<never, never>,
  wanted,
})

/** Thrown by a rule that rarely needs a fact, so its command does not preload the fact. The group is decided again. */
export class FactNeeded extends Error {
  constructor(readonly query: FactQuery) {
    super('A rule needs a fact that is not loaded')
  }
}
