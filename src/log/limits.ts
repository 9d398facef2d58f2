import { mostMoved } from './children.ts'
import { conflict } from '../wire/refusals.ts'

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
