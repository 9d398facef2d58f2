import { Type } from '@sinclair/typebox'
import type { Sql, SqlPart } from '../postgres/database.ts'
import { checked } from '../schema/input.ts'
import { badRequest } from '../responses/errors.ts'
import { isId, nilId } from '../ids.ts'
import { type CachedBody, parsedUrl } from '../responses/reply.ts'

/** The most bytes of a page, but for a single row that is longer. */
export const pageBytes = 1_048_576

/** So few rows are never much too long, about 5 MB, and a page of them needs no sum. */
export const fewRows = 64

export interface Page {
  limit: number
  cursor: string | null
}

/** The id that a page goes on after; at the start, the lowest id. */
export const startOf = ({ cursor }: Page): string => cursor ?? nilId

// `readLimit` reads the number. Elysia would fill in a `default`, so the schema has a `fallback`.
const isText = (value: unknown) => typeof value === 'string'

export const Limit = (fallback: number, most: number) =>
  Type.Optional(
    checked<string>(isText, {
      type: 'integer',
      minimum: 1,
      maximum: most,
      fallback,
      description: `Rows in a page, at most: 1 to ${most}, ${fallback} unless told. A page ends at ${pageBytes} bytes as well, and the Link header leads on`,
      examples: [20],
    }),
  )
export const Cursor = () =>
  Type.Optional(Type.String({ maxLength: 500, description: 'From the Link header of the page before' }))

export const badLimit = (most: number) => badRequest(`limit must be a whole number from 1 to ${most}`)
export const badCursor = () => badRequest('cursor must be one that this list gave in its Link header')

/** The page asked for in a list that is ordered by id. */
export function idPage(query: { limit?: string; cursor?: string }, fallback: number, most: number): Page {
  const limit = readLimit(query.limit, fallback, most)
  const [cursor = null] = query.cursor === undefined ? [] : readCursor(query.cursor, [isIdPart])
  return { limit, cursor }
}

export const isIdPart = (part: unknown): boolean => typeof part === 'string' && isId(part)

/** The rows that a page shows, and the one to go on after when there may be more. */
export interface Cut<R, Last = R> {
  shown: R[]
  last?: Last
}

/** One row more than the limit means that there is a next page. */
export const cut = <R>(rows: R[], limit: number): Cut<R> =>
  rows.length > limit ? { shown: rows.slice(0, limit), last: rows[limit - 1] } : { shown: rows }

/**
 * The rows before which `long`, the lengths of the texts, has not filled a page yet: rows that `pageOf` would certainly leave
 * out are not read. Postgres knows a text's length without decompressing it.
 */
export const untilFull = (sql: Sql, rows: SqlPart, long: SqlPart, mostBytes = pageBytes) => sql`
  select * from (select r.*, ${hasRoom(sql, long, mostBytes)} as has_room from (${rows}) r) r where has_room`

/** Whether a row comes before a page is full, in the order in which its query finds it. */
export const hasRoom = (sql: Sql, long: SqlPart, mostBytes = pageBytes) => sql`
  coalesce(sum(${long}) over (rows between unbounded preceding and 1 preceding), 0) < ${mostBytes}`

/** A page as it is sent, ended where it is large enough. `keyOf` returns the cursor's key of a row. */
export function pageOf<R extends Last, Last>(
  request: Pick<Request, 'url'>,
  { shown, last }: Cut<R, Last>,
  view: (row: R) => object,
  keyOf: (row: Last) => (string | null)[],
  etag = '',
): CachedBody {
  const texts = textsOf(shown, view)
  const end = texts.length < shown.length ? shown[texts.length - 1] : last
  const link = end ? nextLink(request.url, 'cursor', writeCursor(keyOf(end))) : null
  return { etag, body: `[${texts.join()}]`, link }
}

/** The texts of as many rows as a page holds, at least one. */
export function textsOf<R>(rows: R[], view: (row: R) => object, mostBytes = pageBytes): string[] {
  const texts: string[] = []
  let bytes = 1 // brackets and commas: one more than there are texts
  for (const row of rows) {
    const text = JSON.stringify(view(row))
    bytes += Buffer.byteLength(text) + 1
    if (bytes > mostBytes && texts.length > 0) break
    texts.push(text)
  }
  return texts
}

/** @throws HttpError 400 unless it is a whole number from 1 to `most` */
export function readLimit(text: string | undefined, fallback: number, most: number): number {
  if (text === undefined) return fallback
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0
  if (limit >= 1 && limit <= most) return limit
  throw badLimit(most)
}

/** A cursor is the key of the last row of a page, in the order of the list. */
export const writeCursor = (key: (string | null)[]): string =>
  Buffer.from(JSON.stringify(key)).toString('base64url')

/** @throws HttpError 400 unless each part of the key fits */
export function readCursor(cursor: string, parts: ((part: unknown) => boolean)[]): (string | null)[] {
  try {
    const key: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (Array.isArray(key) && key.length === parts.length && parts.every((fits, i) => fits(key[i])))
      return key
  } catch {
    // falls through
  }
  throw badCursor()
}

/** The Link header of the next page (RFC 8288): the request's own URL with another place. */
export function nextLink(requestUrl: string, name: 'cursor' | 'after', place: string): string {
  const url = parsedUrl({ url: requestUrl })
  url.searchParams.set(name, place)
  return `<${url.pathname}${url.search}>; rel="next"`
}
