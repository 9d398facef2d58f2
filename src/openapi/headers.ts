import { privateHeaders, varyByAccept } from '../responses/errors.ts'

interface Header {
  description: string
  schema: object
  example: string | number
}

const text = (description: string, example: string, format?: string): Header => ({
  description,
  schema: { type: 'string', ...(format && { format }) },
  example,
})

const count = (description: string, example: number): Header => ({
  description,
  schema: { type: 'integer', minimum: 1 },
  example,
})

/** Every header of responses, except those that HTTP itself requires and those of CORS. */
export const headers = {
  'X-Request-Id': text('Names this answer in the log', '5f0c2a9b7d31-k3'),
  'X-Content-Type-Options': text('The body is what Content-Type says', 'nosniff'),
  'RateLimit-Policy': text('The budget that applies: so many in so many seconds', '"reads";q=6000000;w=60'),
  RateLimit: text('What is left of it, and the seconds until it is full again', '"reads";r=5999321;t=42'),
  ETag: text(
    'The version of what is shown, for If-None-Match and If-Match',
    '"019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5b"',
  ),
  'Cache-Control': text(
    'Kept for its caller alone, and not shown without asking again',
    privateHeaders['cache-control'],
  ),
  Vary: text(
    'What the answer depends on beside the URL; when it is large, Accept-Encoding too',
    privateHeaders.vary,
  ),
  'Content-Encoding': text('Of an answer from 8 KiB on, to who takes gzip', 'gzip'),
  Link: text(
    'The next page, rel="next"; absent on the last one',
    '</api/v1/tasks?cursor=WyIwMTlhIl0>; rel="next"',
  ),
  'Docket-Version': count(
    'The version of the project that is shown, that holds it, or that was changed; absent where there are many',
    42,
  ),
  'X-Accel-Buffering': text('Of a stream: it is not to be held back on its way', 'no'),
  'Idempotency-Replayed': text('`true` when this is the answer that the key was given before', 'true'),
  'WWW-Authenticate': text('How to say who calls', 'Bearer realm="docket"'),
  'Accept-Encoding': text('The only coding that a body may have, when it had another', 'identity'),
  Connection: text('The connection is closed', 'close'),
  'Retry-After': count('The seconds to wait', 2),
} satisfies Record<string, Header>
export type HeaderName = keyof typeof headers

const ofEveryResponse = ['X-Request-Id', 'X-Content-Type-Options', 'RateLimit-Policy', 'RateLimit'] as const
const ofRead = [...ofEveryResponse, 'ETag', 'Cache-Control', 'Vary', 'Docket-Version'] as const

/** The headers of each kind of response. */
export const headersOf = {
  read: [...ofRead, 'Content-Encoding'],
  page: [...ofRead, 'Content-Encoding', 'Link'],
  notModified: ofRead,
  post: [...ofEveryResponse, 'Cache-Control', 'Vary', 'Content-Encoding'],
  write: [...ofEveryResponse, 'Idempotency-Replayed'],
  error: [...ofEveryResponse, 'Cache-Control', 'Vary'],
} satisfies Record<string, readonly HeaderName[]>

export const headerRefs = (names: readonly HeaderName[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

/** The Vary of a response that may be a stream. */
export const streamVaryHeader = text(headers.Vary.description, varyByAccept)

/** The Cache-Control of a response with a secret. */
export const noStoreHeader = text('No cache may keep the answer', 'no-store')

const aboutLocation = 'Where it is read; members, subtasks and comments: changed and removed'
export const locationAt = (path: string): Header => text(aboutLocation, `/api/v1${path}`, 'uri-reference')
