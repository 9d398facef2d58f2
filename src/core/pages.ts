import { Type } from '@sinclair/typebox'
import { badRequest } from './errors.ts'
import { isId, nilId } from './ids.ts'
import type { CachedBody } from './wire.ts'

/** Rows asked for and the id to go on after. */
export interface Page {
  limit: number
  cursor: string | null
}

/** The id that a page goes on after; at the start, what every id comes after. */
export const startOf = ({ cursor }: Page): string => cursor ?? nilId

export const Limit = (fallback: number, most: number) =>
  Type.Optional(
    Type.String({ description: `Rows in a page: 1 to ${most}, ${fallback} unless told`, examples: ['20'] }),
  )
export const Cursor = () =>
  Type.Optional(Type.String({ maxLength: 500, description: 'From the Link header of the page before' }))

/** The page asked for in a list that is ordered by id. */
export function idPage(query: { limit?: string; cursor?: string }, fallback: number, most: number): Page {
  const limit = readLimit(query.limit, fallback, most)
  const [cursor = null] = query.cursor === undefined ? [] : readCursor(query.cursor, [isIdPart])
  return { limit, cursor }
}

export const isIdPart = (part: unknown): boolean => typeof part === 'string' && isId(part)

/** The rows that a page shows, and the one to go on after when there may be more. */
export interface Cut<R> {
  shown: R[]
  last?: R
}

/** Cuts a page of rows of which there may be one more than its limit: that one says there is a next page. */
export const cut = <R>(rows: R[], limit: number): Cut<R> =>
  rows.length > limit ? { shown: rows.slice(0, limit), last: rows[limit - 1] } : { shown: rows }

/** A page as it is sent. `keyOf` gives the cursor's key of a row. */
export function pageOf<R>(
  request: Request,
  { shown, last }: Cut<R>,
  view: (row: R) => object,
  keyOf: (row: R) => (string | null)[],
  etag = '',
): CachedBody {
  const link = last ? nextLink(request.url, writeCursor(keyOf(last))) : null
  return { etag, body: JSON.stringify(shown.map(view)), link }
}

/**
 * Reads `limit`, a whole number from 1 to `most`.
 * @throws Refusal 400
 */
export function readLimit(text: string | undefined, fallback: number, most: number): number {
  if (text === undefined) return fallback
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0
  if (limit >= 1 && limit <= most) return limit
  throw badRequest(`limit must be a whole number from 1 to ${most}`)
}

/** An opaque cursor: the key of the last row of a page, in the order of the list. */
export const writeCursor = (key: (string | null)[]): string =>
  Buffer.from(JSON.stringify(key)).toString('base64url')

/**
 * The key in a cursor, checked part by part.
 * @throws Refusal 400 for a cursor that this list did not give out.
 */
export function readCursor(cursor: string, parts: ((part: unknown) => boolean)[]): (string | null)[] {
  try {
    const key: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (Array.isArray(key) && key.length === parts.length && parts.every((fits, i) => fits(key[i])))
      return key
  } catch {
    // falls through: not one of ours
  }
  throw badRequest('cursor must be one that this list gave in its Link header')
}

/** The Link header that leads to the next page (RFC 8288): the request's own URL with the cursor set. */
export function nextLink(requestUrl: string, cursor: string): string {
  const url = new URL(requestUrl)
  url.searchParams.set('cursor', cursor)
  return `<${url.pathname}${url.search}>; rel="next"`
}
