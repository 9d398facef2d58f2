import { forCallerAlone, varyByAccept } from '../wire/refusals.ts'

export interface Header {
  description: string
  schema: object
  example: string | number
}

const text = (description: string, example: string): Header => ({
  description,
  schema: { type: 'string' },
  example,
})

/** Every header that an answer may have, but for those that HTTP itself asks for and those of CORS. */
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
    forCallerAlone['cache-control'],
  ),
  Vary: text(
    'What the answer depends on beside the URL; when it is large, Accept-Encoding too',
    forCallerAlone.vary,
  ),
  'Content-Encoding': text('Of an answer from 8 KiB on, to who takes gzip', 'gzip'),
  Link: text(
    'The next page, rel="next"; absent on the last one',
    '</api/v1/tasks?cursor=WyIwMTlhIl0>; rel="next"',
  ),
  'Docket-Version': {
    description:
      'The version of the project that is shown, that holds it, or that was changed; absent where there are many',
    schema: { type: 'integer', minimum: 1 },
    example: 42,
  },
  'X-Accel-Buffering': text('Of a stream: it is not to be held back on its way', 'no'),
  'Idempotency-Replayed': text('`true` when this is the answer that the key was given before', 'true'),
  'WWW-Authenticate': text('How to say who calls', 'Bearer realm="docket"'),
  'Accept-Encoding': text('The only coding that a body may have, when it had another', 'identity'),
  Connection: text('The connection is closed', 'close'),
  'Retry-After': { description: 'The seconds to wait', schema: { type: 'integer', minimum: 1 }, example: 2 },
} satisfies Record<string, Header>
export type HeaderName = keyof typeof headers

const ofEvery = ['X-Request-Id', 'X-Content-Type-Options', 'RateLimit-Policy', 'RateLimit'] as const
const ofRead = [...ofEvery, 'ETag', 'Cache-Control', 'Vary', 'Docket-Version'] as const

/** What kinds of answers have. */
export const headersOf = {
  read: [...ofRead, 'Content-Encoding'],
  page: [...ofRead, 'Content-Encoding', 'Link'],
  notModified: ofRead,
  ask: [...ofEvery, 'Cache-Control', 'Vary', 'Content-Encoding'],
  write: [...ofEvery, 'Idempotency-Replayed'],
  refusal: [...ofEvery, 'Cache-Control', 'Vary'],
} satisfies Record<string, readonly HeaderName[]>

export const referredTo = (names: readonly HeaderName[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

/** Of what may be a stream. */
export const alsoByAccept: Header = text(headers.Vary.description, varyByAccept)

/** No cache on the way may keep a token. */
export const neverKept: Header = text('No cache may keep the answer', 'no-store')

/** Where what was made is found. */
export const locationAt = (path: string): Header => ({
  description: 'Where it is read; members, subtasks and comments: changed and removed',
  schema: { type: 'string', format: 'uri-reference' },
  example: `/api/v1${path}`,
})
