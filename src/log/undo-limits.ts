import type { Sql, SqlPart } from '../postgres/database.ts'
import { untilPageFull } from '../reads/pages.ts'
import { HttpError, notUndoable } from '../responses/errors.ts'
import { maxMoved } from './children.ts'
import type { LoggedEvent } from './undo-input.ts'

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
    super(
      409,
      `Seq ${event.seq} cannot be undone: ${what} changed since${named}`,
      {},
      {
        ...(by.length > 0 && { code: 'changed-since', laterSeqs: by }),
      },
    )
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

export const tooManyUndone = () => notUndoable(`An undo can take back at most ${maxUndoneEvents} events`)
export const undoTooLarge = () =>
  notUndoable(
    `The undo is too large: it would restore or delete more than ${maxUndoneRows} rows, or ${maxMoved.characters} characters`,
  )
