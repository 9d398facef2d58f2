import { Type } from '@sinclair/typebox'
import type { Sql, SqlPart } from '../postgres/database.ts'
import { checked } from '../schema/input.ts'
import { badRequest } from '../responses/errors.ts'
import { isId, nilId } from '../id-format.ts'
import { type CachedBody, parsedUrl } from '../responses/reply.ts'

/** The maximum number of bytes of a page. A single longer row has a page of its own. */
export const pageBytes = 1_048_576

/** A page of at most this many rows has at most about 10 MB, so the query need not add up the lengths of texts. */
export const maxUnmeasuredRows = 64

export interface Page {
  limit: number
  cursor: string | null
}

export const idBeforePage = ({ cursor }: Page): string => cursor ?? nilId

// The limit stays text here: `readLimit` parses it. Elysia would fill in a `default`, so the schema has a `fallback`.
const isText = (value: unknown) => typeof value === 'string'

export const Limit = (fallback: number, max: number) =>
  Type.Optional(
    checked<string>(isText, {
      type: 'integer',
      minimum: 1,
      maximum: max,
      fallback,
      description: `The maximum number of rows in a page: 1 to ${max}, by default ${fallback}. A page also ends at ${pageBytes} bytes; the Link header then leads to the next page`,
      examples: [20],
    }),
  )
export const Cursor = () =>
  Type.Optional(Type.String({ maxLength: 500, description: 'From the Link header of the previous page' }))

export const badLimit = (max: number) => badRequest(`limit must be a whole number from 1 to ${max}`)
export const badCursor = () => badRequest('cursor must be from a Link header of this list')

export function readIdPage(query: { limit?: string; cursor?: string }, fallback: number, max: number): Page {
  const limit = readLimit(query.limit, fallback, max)
  const [cursor = null] = query.cursor === undefined ? [] : readCursor(query.cursor, [isIdPart])
  return { limit, cursor }
}

export const isIdPart = (part: unknown): boolean => typeof part === 'string' && isId(part)

export interface PageRows<R, Last = R> {
  rows: R[]
  last?: Last
}

/** A query reads at most one row more than the limit. If the additional row exists, there is a next page. */
export const cutToLimit = <R>(rows: R[], limit: number): PageRows<R> =>
  rows.length > limit ? { rows: rows.slice(0, limit), last: rows[limit - 1] } : { rows: rows }

/** SQL for the rows that fit in a page: Postgres does not send rows that `pageOf` would leave out. */
export const untilPageFull = (sql: Sql, rows: SqlPart, long: SqlPart, maxBytes = pageBytes) => sql`
  select * from (select r.*, ${hasRoom(sql, long, maxBytes)} as has_room from (${rows}) r) r where has_room`

/** SQL that is true while the rows before this row have less than `maxBytes`. `long` is SQL for a row's length. */
export const hasRoom = (sql: Sql, long: SqlPart, maxBytes = pageBytes) => sql`
  coalesce(sum(${long}) over (rows between unbounded preceding and 1 preceding), 0) < ${maxBytes}`

/**
 * SQL for the length of a `jsonb` value as JSON. Postgres compresses only values of more than 2 KB: the length of other
 * values is known without reading the value.
 */
export const jsonBytes = (sql: Sql, value: SqlPart) => sql`
  case when pg_column_compression(${value}) is null then pg_column_size(${value}) else octet_length(${value}::text) end`

/** Builds the body and the Link header of a page. `keyOf` returns the values that the cursor contains for a row. */
export function pageOf<R extends Last, Last>(
  request: Pick<Request, 'url'>,
  { rows, last }: PageRows<R, Last>,
  view: (row: R) => object,
  keyOf: (row: Last) => (string | null)[],
  etag = '',
): CachedBody {
  const texts = jsonTexts(rows, view)
  const end = texts.length < rows.length ? rows[texts.length - 1] : last
  const link = end ? nextLink(request.url, 'cursor', writeCursor(keyOf(end))) : null
  return { etag, body: `[${texts.join()}]`, link }
}

export function jsonTexts<R>(rows: R[], view: (row: R) => object, maxBytes = pageBytes): string[] {
  const texts: string[] = []
  // The brackets, and a comma between texts, have one byte more than there are texts.
  let bytes = 1
  for (const row of rows) {
    const text = JSON.stringify(view(row))
    bytes += Buffer.byteLength(text) + 1
    if (bytes > maxBytes && texts.length > 0) break
    texts.push(text)
  }
  return texts
}

export function readLimit(text: string | undefined, fallback: number, max: number): number {
  if (text === undefined) return fallback
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0
  if (limit >= 1 && limit <= max) return limit
  throw badLimit(max)
}

export const writeCursor = (key: (string | null)[]): string =>
  Buffer.from(JSON.stringify(key)).toString('base64url')

/** @param parts a check for each part of the key. @throws HttpError 400 if the cursor is not from `writeCursor` */
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

/** Returns the Link header of the next page (RFC 8288): the request's URL with another cursor. */
export function nextLink(
  requestUrl: string,
  name: 'cursor' | 'after' | 'afterProject',
  value: string,
): string {
  const url = parsedUrl({ url: requestUrl })
  url.searchParams.set(name, value)
  return `<${url.pathname}${url.search}>; rel="next"`
}
