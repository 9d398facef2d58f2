import type { TSchema } from '@sinclair/typebox'
import { type ErrorStatus, errorBody, type HttpError, privateHeaders, reasons } from '../responses/errors.ts'
import { ErrorSchema, nameOf } from '../schema/response.ts'

interface Header {
  description: string
  schema: object
  example: string | number
}

function header(description: string, example: string | number, format?: string): Header {
  const schema =
    typeof example === 'number'
      ? { type: 'integer', minimum: 1 }
      : { type: 'string', ...(format && { format }) }
  return { description, schema, example }
}

/** All response headers, except those that HTTP itself requires and those of CORS. */
export const headers = {
  'X-Request-Id': header('The id of this response in the log', '5f0c2a9b7d31-k3'),
  'X-Content-Type-Options': header('Tells browsers not to guess the content type', 'nosniff'),
  'RateLimit-Policy': header('The rate limit: q requests in w seconds', '"reads";q=6000000;w=60'),
  RateLimit: header(
    'The remaining requests (r), and the seconds until the budget is full again (t)',
    '"reads";r=5999321;t=42',
  ),
  ETag: header(
    'The version of the resource, for If-None-Match and If-Match',
    '"019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5b"',
  ),
  'Cache-Control': header(
    'Only the caller may cache the response, and must revalidate it',
    privateHeaders['cache-control'],
  ),
  Vary: header(
    'The request headers that change the response; for a large response also Accept-Encoding, for the feed also Accept',
    privateHeaders.vary,
  ),
  'Content-Encoding': header(
    'gzip, if the client accepts it: for files, and for other responses of 8 KiB or more',
    'gzip',
  ),
  Link: header(
    'The next page, rel="next"; absent on the last page',
    '<{basePath}/api/v1/tasks?cursor=WyIwMTlhIl0>; rel="next"',
  ),
  'Docket-Version': header(
    'The version of the project that contains the resource; absent if the response contains several projects',
    42,
  ),
  'Docket-Indexed': header(
    'Only with `q`: `all` if every earlier commit is included; the included part of the tasks during the first fill of the index, such as 42%; else the number of missing events, such as behind: 3120',
    'all',
  ),
  'Content-Disposition': header('The name of the file', 'attachment; filename="engine-42.docket.ndjson"'),
  'X-Accel-Buffering': header('no, for a stream: proxies must not buffer it', 'no'),
  'Idempotency-Replayed': header(
    '`true` if this is the stored response of an earlier request with the same key',
    'true',
  ),
  'WWW-Authenticate': header('The authentication scheme that the request needs', 'Bearer realm="docket"'),
  'Accept-Encoding': header('The only content coding that a request body may have', 'identity'),
  Connection: header('close, if the server closes the connection', 'close'),
  'Retry-After': header('The seconds to wait', 2),
} satisfies Record<string, Header>
export type HeaderName = keyof typeof headers

const ofEveryResponse = ['X-Request-Id', 'X-Content-Type-Options', 'RateLimit-Policy', 'RateLimit'] as const
const ofRead = [...ofEveryResponse, 'ETag', 'Cache-Control', 'Vary', 'Docket-Version'] as const

export const headersOf = {
  read: [...ofRead, 'Content-Encoding'],
  page: [...ofRead, 'Content-Encoding', 'Link'],
  notModified: [...ofRead, 'Docket-Indexed'],
  post: [...ofEveryResponse, 'Cache-Control', 'Vary', 'Content-Encoding'],
  download: [...ofEveryResponse, 'Cache-Control', 'Vary'],
  write: [...ofEveryResponse, 'Idempotency-Replayed'],
  error: [...ofEveryResponse, 'Cache-Control', 'Vary'],
} satisfies Record<string, readonly HeaderName[]>

export const headerRefs = (names: readonly HeaderName[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

export const noStoreHeader = header('No cache may store the response', 'no-store')

export const locationAt = (path: string): Header =>
  header('The path of the new resource', `{basePath}/api/v1${path}`, 'uri-reference')

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  description?: string
  schema: object
}

const requestHeaders = {
  'If-Match':
    'The ETag that the resource must have, with or without `W/`; a changed name of a user does not matter',
  'Docket-If-Claim':
    'The id of a task in the project, a space, and the `seq` of its claim. The write gets 412 once this claim has ended',
  'If-None-Match': 'The ETag of an earlier response; the response is 304 if the resource still has this ETag',
  'Idempotency-Key':
    'Up to 255 characters. A retry with the same key gets the stored response, and the write runs once. Errors are not stored: after an error, the same key may be used again',
  'Last-Event-ID': 'The seq of the last event that the client has received; it takes precedence over `after`',
}
export type RequestHeader = keyof typeof requestHeaders

const boundsOf: { [K in RequestHeader]?: object } = {
  'Idempotency-Key': { minLength: 1, maxLength: 255 },
  'Last-Event-ID': { type: 'integer', minimum: 0 },
}

export const headerParameter = (name: RequestHeader): Parameter => ({
  ...{ name, in: 'header', required: false, description: requestHeaders[name] },
  schema: { type: 'string', ...boundsOf[name] },
})

/** Leaves out the examples, because Swagger UI would fill them in and send them. */
export const queryParameters = ({ properties, required = [] }: TSchema): Parameter[] =>
  Object.entries<TSchema>(properties).map(([name, { type, description, examples: _, fallback, ...rest }]) => {
    const schema = {
      ...{ type, ...rest },
      ...(fallback !== undefined && { default: fallback }),
      ...(nameOf(rest) && { description }),
    }
    return { name, in: 'query', required: required.includes(name), description, schema }
  })

/** Describes a parameter of the path, of which the plugin knows only the name. */
export function pathParameter(path: string, name: string): Parameter {
  const noun = new RegExp(`(\\w+)s/\\{${name}\\}`).exec(path)?.[1]
  const [description, schema] = noun
    ? [`The id of ${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`, { type: 'string', format: 'uuid' }]
    : [`The ${name}, percent-encoded`, { type: 'string', minLength: 1 }]
  return { name, in: 'path', required: true, description, schema }
}

const responseName = (status: ErrorStatus): string => reasons[status].replaceAll(' ', '')
export const commonResponse = (status: ErrorStatus) => ({
  $ref: `#/components/responses/${responseName(status)}`,
})

export const commonResponses = (general: HttpError[][]) => ({
  NotModified: {
    description: 'Not Modified: the client already has this version',
    headers: headerRefs(headersOf.notModified),
  },
  ...Object.fromEntries(general.map((errors) => [responseName(errors[0]!.status), responseOf(errors)])),
})

export const errorResponses = (errors: HttpError[]) =>
  Object.fromEntries(
    [...Map.groupBy(errors, ({ status }) => status)].map(([status, group]) => [status, responseOf(group)]),
  )

/** Documents all errors with one status as one response. The first is the example; the description lists the others. */
function responseOf(errors: HttpError[]) {
  const [first = errors[0]!, ...others] = errors
  const also = others.length > 0 ? `. Also: ${others.map((one) => one.message).join('; ')}` : ''
  const names = Object.keys(headers) as HeaderName[]
  const ownHeaders = names.filter((name) => errors.some((one) => name.toLowerCase() in one.headers))
  return {
    description: reasons[first.status] + also,
    headers: headerRefs([...headersOf.error, ...ownHeaders]),
    content: { 'application/json': { schema: ErrorSchema, example: errorBody(first) } },
  }
}
