import { conflict, Refusal } from '../wire/refusals.ts'
import { mostMoved } from './children.ts'
import type { LoggedEvent } from './past.ts'

/** What an event did is no longer so: which later ones changed it, the log says. */
export class Overtaken extends Refusal {
  constructor(
    readonly event: LoggedEvent,
    /** The fields that are others by now; none where it is about all of it. */
    readonly fields: string[],
    /** Seqs that are no obstacle, for they are undone too. */
    readonly undone: number[],
    by: number[] = [],
  ) {
    const what = fields.length > 0 ? fields.join(', ') : event.entity
    const named = by.length > 0 ? ` by seq ${by.join(', ')}` : ''
    super(409, `Seq ${event.seq} cannot be undone: ${what} changed since${named}`)
  }
}

/** Events that are undone at once, at most. */
export const mostUndone = 500
/** Rows that come or go with them, at most. */
export const mostAround = mostMoved.rows
/** Characters in the texts of events and rows, at most. */
export const mostCharacters = mostMoved.characters

export const tooMany = () => conflict(`At most ${mostUndone} events are undone at once`)
export const tooMuch = () =>
  conflict(
    `Too much would come or go: more than ${mostMoved.rows} rows, or ${mostMoved.characters} characters in them`,
  )
