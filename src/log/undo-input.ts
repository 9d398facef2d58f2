import type { ChildOfTask } from '../model/entities.ts'
import type { ProjectCaller } from '../identity/rights.ts'
import { type Children, maxMoved } from './rows.ts'
import type { StoredEvent } from '../model/events.ts'
import type { Person } from '../reads/people.ts'
import type { Sql, SqlPart } from '../postgres/database.ts'
import { untilPageFull } from '../reads/pages.ts'
import { HttpError, conflict } from '../responses/errors.ts'

/** The events of the project that an undo reverses: by their seqs, or by the number of a batch. */
export interface UndoSelection {
  seqs?: number[]
  batch?: number
  /** Checks the caller's rights on the events before other data is loaded. @throws HttpError 403, 409 */
  authorize(projectCaller: ProjectCaller, events: LoggedEvent[]): void
}

export type LoggedEvent = StoredEvent & { taskId: string | null }

export interface Unassignment {
  seq: number
  entityId: string
  /** The field that contained the member. */
  name: string
}

/** An event that gave a task another sort key. */
export interface Respacing {
  seq: number
  entityId: string
  from: string
  to: string
}

export interface UndoInput {
  /** The latest first. Leaves out events with new sort keys, because these do not change the order of the tasks. */
  events: LoggedEvent[]
  children: ReadonlyMap<number, Children>
  /** The children of tasks whose creation is undone: the task can be deleted only if this undo deletes them too. */
  currentChildren: { taskId: string; entity: ChildOfTask; id: string }[]
  /** The seqs of deletions whose rows were deleted again later, or moved to another project. */
  deletedAgain: ReadonlySet<number>
  /** The events that cleared fields with removed members, the latest first, by the seq of the removal. */
  unassignments: ReadonlyMap<number, Unassignment[]>
  /** In the order of their seqs, from the events that made room for the first placed task of `events`. */
  respacings: readonly Respacing[]
  people: ReadonlyMap<string, Person>
}

export interface UndoCaller extends ProjectCaller {
  projectId: string
  version: number
}

export type ReadUndoInput = (at: UndoCaller, selection: UndoSelection) => Promise<UndoInput>

/** An undo is rejected because later events changed the same fields or row. The message names their seqs. */
export class UndoConflict extends HttpError {
  constructor(
    readonly event: LoggedEvent,
    /** The changed fields. Empty if the whole row changed. */
    readonly fields: string[],
    readonly undone: number[],
    by: number[] = [],
  ) {
    const what = fields.length > 0 ? [...new Set(fields.map(shownName))].join(', ') : event.entity
    const named = by.length > 0 ? ` by seq ${by.join(', ')}` : ''
    super(409, `Seq ${event.seq} cannot be undone: ${what} changed since${named}`)
  }
}

/** Responses show the columns of a claim as one field. */
const shownName = (field: string): string => (field.startsWith('claim') ? 'claim' : field)

export const maxUndoneEvents = 500
export const maxUndoneRows = maxMoved.rows

/** Runs a query with a column `characters`. Postgres stops it when the rows exceed the size limits of an undo. */
export async function readBounded<R extends object>(sql: Sql, rows: SqlPart, limit = maxUndoneRows) {
  const some = sql`select * from (${rows}) r limit ${limit + 1}`
  const read = await sql<(R & { characters: number })[]>`
    ${untilPageFull(sql, some, sql`characters`, maxMoved.characters + 1)}`
  const sum = read.reduce((all, { characters }) => all + characters, 0)
  return { rows: read as R[], isTooMuch: read.length > limit || sum > maxMoved.characters }
}

export const undoTooLarge = () =>
  conflict(
    `The undo is too large: one undo takes back at most ${maxUndoneEvents} events, ${maxUndoneRows} rows and ${maxMoved.characters} characters`,
  )
