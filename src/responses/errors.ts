/** Headers of every read and every error: only the caller may cache the response, and must revalidate it each time. */
export const privateHeaders = { 'cache-control': 'private, no-cache', vary: 'Authorization' }

export const reasons = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  410: 'Gone',
  412: 'Precondition Failed',
  413: 'Payload Too Large',
  414: 'URI Too Long',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Entity',
  428: 'Precondition Required',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
} as const
export type ErrorStatus = keyof typeof reasons

/** Facts about an error for the tools for agents, which turn `code` into advice. No HTTP response has them. */
export interface ErrorDetails {
  code?: 'claim-ended' | 'text-unmatched' | 'version-changed' | 'outcome-unknown'
  /** The version of the project. */
  version?: number
  /** The texts of a task that the request would overwrite, and the ETag of the task. */
  current?: { id: string; etag: string; title?: string; description?: string }
}

/** Clients receive the status and the message. */
export class HttpError extends Error {
  constructor(
    readonly status: ErrorStatus,
    message: string,
    readonly headers: Record<string, string> = {},
    readonly details: ErrorDetails = {},
  ) {
    super(message)
  }
}

export const withPrefix = (name: string, { status, message, headers, details }: HttpError): HttpError =>
  new HttpError(status, `${name}: ${message}`, headers, details)

/** Maps a list. An HttpError of an element is thrown as `errorOf` returns it. */
export const mapInOrder = <T, R>(
  all: T[],
  map: (one: T, n: number) => R,
  errorOf: (n: number, error: HttpError) => HttpError,
): R[] =>
  all.map((one, n) => {
    try {
      return map(one, n)
    } catch (error) {
      throw error instanceof HttpError ? errorOf(n, error) : error
    }
  })

export const badRequest = (message: string) => new HttpError(400, message)
export const invalid = (field: string, problem: string) => badRequest(`${field} ${problem}`)
export const unauthorized = (message: string) =>
  new HttpError(401, message, { 'www-authenticate': 'Bearer realm="docket"' })
export const missingToken = () => unauthorized('A bearer token is required')
export const invalidToken = () => unauthorized('The bearer token is not valid')
export const forbidden = (message: string) => new HttpError(403, message)
export const notFound = (noun: string) => new HttpError(404, `${noun} not found`)
export const conflict = (message: string, details?: ErrorDetails) => new HttpError(409, message, {}, details)
export const idTaken = () => conflict('This id is already used; send a new UUIDv7')
export const internalError = () => new HttpError(500, 'An unexpected error occurred in the service')
export const duplicateParameter = (name: string) =>
  badRequest(`${name.slice(0, 100) || '""'} is given more than once`)
export const unknownName = (name: string): string => `${name || '""'} is not known here`
export const unknownParameter = (name: string) => badRequest(unknownName(name.slice(0, 100)))
export const invalidIdempotencyKey = () =>
  badRequest('Idempotency-Key must be 1 to 255 printable ASCII characters, with or without quotes')
export const eventsExpired = (oldest: number, label = '') =>
  new HttpError(410, `Events${label && ` of ${label}`} before ${oldest} are no longer kept`)
export const aheadOfProject = (parameter = 'after') =>
  badRequest(`${parameter} is ahead of the project: it has no such version`)
export const tooManyRequests = (message: string) => new HttpError(429, message, { 'retry-after': '1' })
export const unavailable = (message: string, details?: ErrorDetails) =>
  new HttpError(503, message, { 'retry-after': '1' }, details)
/** The write may be committed already, or later. */
export const outcomeUnknown = () =>
  unavailable(
    `${unknownOutcome}: repeat the write with the same Idempotency-Key; without a key, read first whether it was written`,
    { code: 'outcome-unknown' },
  )
const unknownOutcome = 'The outcome of the write is unknown'
const nothingWritten = 'Nothing was written'
export const writeTimedOut = () => unavailable(`The write timed out. ${nothingWritten}`)
/** Adds to a 503 that nothing was written, unless the message already contains the outcome. */
export function withOutcome(error: HttpError): HttpError {
  const { status, message, headers, details } = error
  if (message.startsWith(unknownOutcome) || message.endsWith(nothingWritten)) return error
  return new HttpError(status, `${message}. ${nothingWritten}`, headers, details)
}

/** For URLs without `q`, whose 1,000 characters can become 12,000. Bun itself responds with 431 to headers of 16 KiB or more. */
export const maxUrlCharacters = 8_192
export const urlTooLong = () => new HttpError(414, `The URL must have at most ${maxUrlCharacters} characters`)

export const errorBody = ({ status, message }: HttpError) => ({
  statusCode: status,
  message,
  error: reasons[status],
})

export function errorResponse(error: HttpError, requestId: string): Response {
  const { status, headers } = error
  const common = { 'x-content-type-options': 'nosniff', 'x-request-id': requestId, ...privateHeaders }
  return Response.json(errorBody(error), { status, headers: { ...headers, ...common } })
}
