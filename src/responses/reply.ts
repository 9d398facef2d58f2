import { createHash, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { LRUCache } from 'lru-cache'
import { noHits } from '../metrics/counts.ts'
import { gzipTag, plainTag } from './if-match.ts'
import { privateHeaders } from './errors.ts'

/** A response body as it was last built, and the ETag that it has. */
export interface CachedBody {
  /** Empty for a list over several projects, which has none. */
  etag: string
  body: string
  /** The Link header of a page that has a next one. */
  link: string | null
  /** The compressed body, once a caller takes it. */
  gzipped?: Promise<Uint8Array<ArrayBuffer>>
}

/** A reply of a command, also as it is stored for a retry. */
export interface Reply {
  status: number
  body: string
  etag: string | null
}

/** A response without a body. */
export const baseHeaders = { 'x-content-type-options': 'nosniff' }
export const jsonHeaders = { 'content-type': 'application/json', ...baseHeaders }
const readHeaders = { ...jsonHeaders, ...privateHeaders }
const notModifiedHeaders = { ...baseHeaders, ...privateHeaders }
/** The project's version when the read began: what is shown is not older. */
export const versionHeader = 'docket-version'

const processId = randomBytes(6).toString('hex')
let count = 0

/** An id for one response: its process, and its number there. */
export const requestId = (): string => `${processId}-${(++count).toString(36)}`

/** The strong ETag of a row: the id of its last event, and a tag of the name that it shows. */
export const etagOf = ({ eventId }: { eventId: string }, nameTag = ''): string => `"${eventId}${nameTag}"`

/** A strong ETag made of the response itself, where no version counts its changes. */
export const digestEtag = (body: string, link: string | null = null): string =>
  `"${createHash('sha256')
    .update(`${link ?? ''}\n${body}`)
    .digest('base64url')
    .slice(0, 27)}"`

export const json = (body: unknown, status = 200): Response =>
  new Response(JSON.stringify(body), { status, headers: { ...jsonHeaders, 'x-request-id': requestId() } })

/** A body of this many characters is worth compressing: 18 KB take 0.07 ms, in a thread of its own. */
const gzipCharacters = 8_192
const varyByEncoding = `${privateHeaders.vary}, Accept-Encoding`
const compress = promisify(gzip)
/** At level 3, a sixth of the size; the default level takes half as long again for a fiftieth less. */
export const compressed = (body: string | Uint8Array): Promise<Uint8Array<ArrayBuffer>> =>
  compress(body, { level: 3 })

/** Whether a caller takes gzip (RFC 9110, 12.5.3). */
export function acceptsGzip({ headers }: Request): boolean {
  const codings = headers.get('accept-encoding')
  if (!codings) return false
  const [, weight] = /(?:^|,)\s*(?:x-)?gzip\s*(?:;\s*q=([\d.]+)\s*)?(?:,|$)/i.exec(codings) ?? [, '0']
  return weight === undefined || Number(weight) > 0
}

/** The response to a read, with the Link to the next page if there is one. */
export function respondWithBody(
  request: Request,
  cached: CachedBody,
  version?: number,
): Response | Promise<Response> {
  const { body, link, etag } = cached
  const headers: Record<string, string> = { ...readHeaders, 'x-request-id': requestId() }
  if (version !== undefined) headers[versionHeader] = String(version)
  if (etag) headers.etag = etag
  if (link) headers.link = link
  if (body.length >= gzipCharacters) {
    headers.vary = varyByEncoding
    if (acceptsGzip(request)) return respondCompressed(cached, headers)
  }
  return new Response(body, { headers })
}

async function respondCompressed(cached: CachedBody, headers: Record<string, string>): Promise<Response> {
  if (headers.etag) headers.etag = gzipTag(headers.etag)
  headers['content-encoding'] = 'gzip'
  return new Response(await (cached.gzipped ??= compressed(cached.body)), { headers })
}

/** 304 when `If-None-Match` names this ETag, or that of the compressed form. */
export function notModified(request: Request, etag: string, version?: number): Response | undefined {
  const named = request.headers.get('if-none-match')
  if (!named || !etag) return undefined
  const known = named === etag || named === '*' ? etag : tagsIn(named).find((tag) => plainTag(tag) === etag)
  if (known === undefined) return undefined
  const headers: Record<string, string> = { ...notModifiedHeaders, 'x-request-id': requestId(), etag: known }
  if (version !== undefined) headers[versionHeader] = String(version)
  if (known !== etag) headers.vary = varyByEncoding
  return new Response(null, { status: 304, headers })
}

const tagsIn = (header: string): string[] => header.split(',').map((tag) => tag.trim().replace(/^W\//, ''))

/**
 * Answers a read whose ETag was looked up for this very request: with 304, the cached body of that ETag, or a body that
 * `build` makes, which may be newer than the ETag, never older, and has its own. `version` is the version of the project.
 */
export type Serve = (
  request: Request,
  key: string,
  etag: string,
  build: () => Promise<CachedBody>,
  version?: number,
) => Promise<Response>

/** Caches at most `limitBytes` of bodies. No body is trusted by itself: the ETag decides. */
export function openServe(limitBytes: number, counts = noHits()): Serve {
  const bodies = new LRUCache<string, CachedBody>({
    maxSize: Math.max(1, limitBytes),
    sizeCalculation: cachedBytes,
  })
  return async (request, key, etag, build, version) => {
    const known = notModified(request, etag, version)
    if (known) return known
    const cached = bodies.get(key)
    if (cached?.etag === etag) {
      counts.hits++
      return respondWithBody(request, cached, version)
    }
    counts.misses++
    const built = await build()
    bodies.set(key, built)
    return respondWithBody(request, built, version)
  }
}

/** Bytes: two a character, one more where it is compressed too, and about 200 of the map (measured). */
const cachedBytes = ({ body, link }: CachedBody, key: string): number =>
  2 * (key.length + body.length + (link?.length ?? 0)) +
  (body.length < gzipCharacters ? 0 : body.length) +
  200

/** 304 when the caller has this body, else the body. */
export const respond = (
  request: Request,
  cached: CachedBody,
  version?: number,
): Response | Promise<Response> =>
  notModified(request, cached.etag, version) ?? respondWithBody(request, cached, version)

/** The same under an ETag made of the body. */
export const respondByDigest = (
  request: Request,
  { body, link }: Omit<CachedBody, 'etag'>,
  version?: number,
): Response | Promise<Response> => respond(request, { body, link, etag: digestEtag(body, link) }, version)

/** Responds with one resource that was just read. */
export const respondWithJson = (request: Request, body: object, version?: number) =>
  respondByDigest(request, { body: JSON.stringify(body), link: null }, version)

/** The response to a write. `madeAt`: the path below /api/v1 of what was created, from the id with which every view begins. */
export function respondToWrite(
  { status, body, etag, replayed }: Reply & { replayed?: true },
  madeAt?: (id: string) => string,
): Response {
  const headers: Record<string, string> = {
    ...(status === 204 ? baseHeaders : jsonHeaders),
    'x-request-id': requestId(),
  }
  if (etag) headers.etag = etag
  if (madeAt && status === 201)
    headers.location = `/api/v1${madeAt(body.slice(idAt, body.indexOf('"', idAt)))}`
  // Responses about many changes in a project begin with its version.
  const version = body.startsWith('{"version":') && /^\{"version":(\d+)/.exec(body)?.[1]
  if (version) headers[versionHeader] = version
  if (replayed) headers['idempotency-replayed'] = 'true'
  return new Response(status === 204 ? null : body, { status, headers })
}

const idAt = '{"id":"'.length

/** A request's path and query: what a body is cached under. */
export const pathAndQuery = ({ url }: Pick<Request, 'url'>): string =>
  url.startsWith('/') ? url : url.slice(url.indexOf('/', 8)) // Bun omits what cannot be a host

/** The same as a URL; the host before it may be anything, even what no URL can have. */
export const parsedUrl = (request: Pick<Request, 'url'>): URL =>
  new URL(`http://docket${pathAndQuery(request)}`)

export const pathnameOf = (request: Pick<Request, 'url'>): string => pathAndQuery(request).replace(/\?.*/, '')
