import { forCallerAlone } from './refusals.ts'
import { gzipTag, plainTag } from './form-tags.ts'
import { gzipCharacters, gzipped, takesGzip } from './gzip.ts'
import { requestId } from './request-id.ts'

/** An answer's body as it was last built, and the ETag it is good for. */
export interface CachedBody {
  /** Empty for a list over several projects, which has none. */
  etag: string
  body: string
  /** The Link header of a page that has a next one. */
  link: string | null
}

/** What a browser must never take for something else. */
export const typed = { 'content-type': 'application/json', 'x-content-type-options': 'nosniff' }
/** Of an answer without a body. */
export const untyped = { 'x-content-type-options': 'nosniff' }
const ofReads = { ...typed, ...forCallerAlone }
/** Says which version its project had when a read was asked: what is shown is not older. */
export const versionHeader = 'docket-version'
const ofNothing = { ...untyped, ...forCallerAlone }

/** The strong ETag of a single resource: the id of the event that last touched it, and what tells a name that it shows. */
export const etagOf = ({ eventId }: { eventId: string }, nameTag = ''): string => `"${eventId}${nameTag}"`

/** A body without an ETag. */
export function json(body: unknown, status = 200): Response {
  return new Response(JSON.stringify(body), { status, headers: { ...typed, 'x-request-id': requestId() } })
}

/** The answer to a read whose body is ready, with the way to the next page if there is one. */
export function page(request: Request, kept: CachedBody, version?: number): Response | Promise<Response> {
  const { body, link, etag } = kept
  const headers: Record<string, string> = { ...ofReads, 'x-request-id': requestId() }
  if (version !== undefined) headers[versionHeader] = String(version)
  if (etag) headers.etag = etag
  if (link) headers.link = link
  if (body.length < gzipCharacters) return new Response(body, { headers })
  headers.vary = inEitherForm
  return takesGzip(request) ? smaller(kept, headers) : new Response(body, { headers })
}

const inEitherForm = `${forCallerAlone.vary}, Accept-Encoding`

async function smaller(kept: CachedBody, headers: Record<string, string>): Promise<Response> {
  const form = await gzipped(kept)
  if (headers.etag) headers.etag = gzipTag(headers.etag)
  return new Response(form, { headers: { ...headers, 'content-encoding': 'gzip' } })
}

/** A request's path and query: what a body is kept under. */
export const pathOf = ({ url }: Pick<Request, 'url'>): string =>
  url.startsWith('/') ? url : url.slice(url.indexOf('/', 8)) // Bun leaves out what cannot be a host

/** The same, taken apart; the host before it may be anything, also what no URL can have. */
export const parsedPath = (request: Pick<Request, 'url'>): URL => new URL(`http://docket${pathOf(request)}`)

/** A request's path alone. */
export const pathnameOf = (request: Pick<Request, 'url'>): string => pathOf(request).replace(/\?.*/, '')

/** "You have it", when `If-None-Match` names this ETag or that of its compressed form: no body. */
export function notModified(request: Request, etag: string, version?: number): Response | undefined {
  const named = request.headers.get('if-none-match')
  if (!named || !etag) return undefined
  const known = named === etag || named === '*' ? etag : tagsIn(named).find((tag) => plainTag(tag) === etag)
  if (known === undefined) return undefined
  const headers: Record<string, string> = { ...ofNothing, 'x-request-id': requestId(), etag: known }
  if (version !== undefined) headers[versionHeader] = String(version)
  if (known !== etag) headers.vary = inEitherForm
  return new Response(null, { status: 304, headers })
}

const tagsIn = (header: string): string[] => header.split(',').map((tag) => tag.trim().replace(/^W\//, ''))

/** An answer as it goes out, and as it is kept for a caller who asks again. */
export interface Reply {
  status: number
  body: string
  etag: string | null
}

/** The path below /api/v1 of what was made, for Location: where it is read, or at least changed and removed. */
export type MadeAt = (id: string) => string

/** Every view begins with its id. */
const idIn = (body: string): string => body.slice(idAt, body.indexOf('"', idAt))
const idAt = '{"id":"'.length

/** The project's version, with which the answers begin that are about many changes in it. */
const versionIn = (body: string): string | undefined =>
  body.startsWith('{"version":') ? /^\d+/.exec(body.slice(versionAt))?.[0] : undefined
const versionAt = '{"version":'.length

export function send(
  { status, body, etag, replayed }: Reply & { replayed?: true },
  madeAt?: MadeAt,
): Response {
  const headers: Record<string, string> = {
    ...(status === 204 ? untyped : typed),
    'x-request-id': requestId(),
  }
  if (etag) headers.etag = etag
  if (madeAt && status === 201) headers.location = `/api/v1${madeAt(idIn(body))}`
  const version = versionIn(body)
  if (version) headers['docket-version'] = version
  if (replayed) headers['idempotency-replayed'] = 'true'
  return new Response(status === 204 ? null : body, { status, headers })
}
