import { forCallerAlone } from './caching.ts'
import { requestId } from './request-id.ts'

/** An answer's body as it was last built, and the ETag it is good for. */
export interface CachedBody {
  /** Empty for a list over several projects, which has none. */
  etag: string
  body: string
  /** The Link header of a page that has a next one. */
  link: string | null
}

const plain = { 'content-type': 'application/json' }

/** The strong ETag of a single resource: the id of the event that last touched it. */
export const etagOf = ({ eventId }: { eventId: string }): string => `"${eventId}"`

/** A body without an ETag. */
export function json(body: unknown, status = 200): Response {
  return new Response(JSON.stringify(body), { status, headers: { ...plain, 'x-request-id': requestId() } })
}

/** The answer to a read whose body is ready, with the way to the next page if there is one. */
export function page({ body, link, etag }: CachedBody): Response {
  const headers: Record<string, string> = { ...plain, ...forCallerAlone, 'x-request-id': requestId() }
  if (etag) headers.etag = etag
  if (link) headers.link = link
  return new Response(body, { headers })
}

/** A request's path and query: what a body is kept under. */
export const pathOf = ({ url }: Request): string => url.slice(url.indexOf('/', 8))

/** True when `If-None-Match` names this ETag: the caller has it already. */
export function isKnown(request: Request, etag: string): boolean {
  const known = request.headers.get('if-none-match')
  if (!known) return false
  return known === '*' || known.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)
}

/** "You have it": no body. */
export const notModified = (etag: string): Response =>
  new Response(null, { status: 304, headers: { ...forCallerAlone, 'x-request-id': requestId(), etag } })
