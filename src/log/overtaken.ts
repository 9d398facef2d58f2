import type { Sql, SqlPart } from '../postgres/database.ts'
import { untilFull } from '../reads/pages.ts'
import { conflict, HttpError } from '../responses/errors.ts'
import { mostMoved } from './children.ts'
import type { LoggedEvent } from './past.ts'

/** Later events changed what an event did: the error names their seqs. */
export class Overtaken extends HttpError {
  constructor(
    readonly event: LoggedEvent,
    /** The changed fields; none for the whole row. */
    readonly fields: string[],
    /** Seqs that are undone too. */
    readonly undone: number[],
    by: number[] = [],
  ) {
    const what = fields.length > 0 ? fields.join(', ') : event.entity
    const named = by.length > 0 ? ` by seq ${by.join(', ')}` : ''
    super(409, `Seq ${event.seq} cannot be undone: ${what} changed since${named}`)
  }
}

/** Events that are undone at once, at most, and the rows that come or go with them. */
export const mostUndone = 500
export const mostAround = mostMoved.rows

/**
 * Reads rows that have `characters`, in the order of their query, until they exceed the limits of an undo: Postgres ends the
 * query there.
 */
export async function readBounded<R extends object>(sql: Sql, rows: SqlPart, most = mostAround) {
  const some = sql`select * from (${rows}) r limit ${most + 1}`
  const read = await sql<(R & { characters: number })[]>`
    ${untilFull(sql, some, sql`characters`, mostMoved.characters + 1)}`
  const sum = read.reduce((all, { characters }) => all + characters, 0)
  return { rows: read as R[], isTooMuch: read.length > most || sum > mostMoved.characters }
}

export const tooMany = () => conflict(`At most ${mostUndone} events are undone at once`)
export const tooMuch = () =>
  conflict(
    `Too much would come or go: more than ${mostAround} rows, or ${mostMoved.characters} characters in them`,
  )
