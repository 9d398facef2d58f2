import { privateHeaders, varyByAccept } from '../responses/errors.ts'

interface Header {
  description: string
  schema: object
  example: string | number
}

function text(description: string, example: string, format?: string): Header {
  return { description, schema: { type: 'string', ...(format && { format }) }, example }
}

function count(description: string, example: number): Header {
  return { description, schema: { type: 'integer', minimum: 1 }, example }
}

/** All response headers, except those that HTTP itself requires and those of CORS. */
export const headers = {
  'X-Request-Id': text('The id of this response in the log', '5f0c2a9b7d31-k3'),
  'X-Content-Type-Options': text('Tells browsers not to guess the content type', 'nosniff'),
  'RateLimit-Policy': text('The rate limit: q requests in w seconds', '"reads";q=6000000;w=60'),
  RateLimit: text(
    'The remaining requests (r), and the seconds until the budget is full again (t)',
    '"reads";r=5999321;t=42',
  ),
  ETag: text(
    'The version of the resource, for If-None-Match and If-Match',
    '"019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5b"',
  ),
  'Cache-Control': text(
    'Only the caller may cache the response, and must revalidate it',
    privateHeaders['cache-control'],
  ),
  Vary: text(
    'The request headers that change the response; for a large response also Accept-Encoding',
    privateHeaders.vary,
  ),
  'Content-Encoding': text(
    'gzip, if the client accepts it: for files, and for other responses of 8 KiB or more',
    'gzip',
  ),
  Link: text(
    'The next page, rel="next"; absent on the last page',
    '<{basePath}/api/v1/tasks?cursor=WyIwMTlhIl0>; rel="next"',
  ),
  'Docket-Version': count(
    'The version of the project that contains the resource; absent if the response contains several projects',
    42,
  ),
  'Docket-Indexed': text(
    'Only with `q`: `all` if every earlier commit is included; the included part of the tasks during the first fill of the index, such as 42%; else the number of missing events, such as behind: 3120',
    'all',
  ),
  'Content-Disposition': text('The name of the file', 'attachment; filename="engine-42.docket.ndjson"'),
  'X-Accel-Buffering': text('no, for a stream: proxies must not buffer it', 'no'),
  'Idempotency-Replayed': text(
    '`true` if this is the stored response of an earlier request with the same key',
    'true',
  ),
  'WWW-Authenticate': text('The authentication scheme that the request needs', 'Bearer realm="docket"'),
  'Accept-Encoding': text('The only content coding that a request body may have', 'identity'),
  Connection: text('close, if the server closes the connection', 'close'),
  'Retry-After': count('The seconds to wait', 2),
} satisfies Record<string, Header>
export type HeaderName = keyof typeof headers

const ofEveryResponse = ['X-Request-Id', 'X-Content-Type-Options', 'RateLimit-Policy', 'RateLimit'] as const
const ofRead = [...ofEveryResponse, 'ETag', 'Cache-Control', 'Vary', 'Docket-Version'] as const

export const headersOf = {
  read: [...ofRead, 'Content-Encoding'],
  page: [...ofRead, 'Content-Encoding', 'Link'],
  notModified: ofRead,
  post: [...ofEveryResponse, 'Cache-Control', 'Vary', 'Content-Encoding'],
  download: [...ofEveryResponse, 'Cache-Control', 'Vary'],
  write: [...ofEveryResponse, 'Idempotency-Replayed'],
  error: [...ofEveryResponse, 'Cache-Control', 'Vary'],
} satisfies Record<string, readonly HeaderName[]>

export const headerRefs = (names: readonly HeaderName[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

export const streamVaryHeader = text(headers.Vary.description, varyByAccept)

export const noStoreHeader = text('No cache may store the response', 'no-store')

export const locationAt = (path: string): Header =>
  text('The path of the new resource', `{basePath}/api/v1${path}`, 'uri-reference')
