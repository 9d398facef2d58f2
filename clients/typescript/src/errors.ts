/** A response with an error status, or a missing response (`ConnectionError`). */
export class DocketError extends Error {
  /** The HTTP status, or 0 without a response. */
  readonly status: number
  /** The body of the response: `{statusCode, message, error}`, or the text of a proxy. */
  readonly body: unknown
  /** The value of `Retry-After` in milliseconds; undefined without this header. */
  readonly retryAfterMs: number | undefined
  /** The current ETag of the task, for 428. */
  readonly etag: string | undefined

  constructor(status: number, message: string, options: ErrorDetails = {}) {
    super(message, options)
    this.name = new.target.name
    this.status = status
    this.body = options.body
    this.retryAfterMs = options.retryAfterMs
    this.etag = options.etag
  }
}

interface ErrorDetails extends ErrorOptions {
  body?: unknown
  retryAfterMs?: number | undefined
  etag?: string | undefined
}

/** 400: a field, parameter or header is wrong; the message names it. */
export class BadRequestError extends DocketError {}
/** 401: the token is missing, expired or revoked. */
export class UnauthorizedError extends DocketError {}
/** 403: the role of the caller or the scope of the token is too low. */
export class ForbiddenError extends DocketError {}
/** 404: the resource does not exist, or the caller may not read it. */
export class NotFoundError extends DocketError {}
/** 409: the request conflicts with the current state. */
export class ConflictError extends DocketError {}
/** 410: the requested events or states have expired. */
export class GoneError extends DocketError {}
/** 412: the condition `ifMatch`, `ifVersion` or `ifClaim` is false. */
export class PreconditionFailedError extends DocketError {}
/** 413: the body is too long. */
export class PayloadTooLargeError extends DocketError {}
/** 422: the idempotency key was used for another request. */
export class KeyReusedError extends DocketError {}
/** 428: in a project with `textEdits: "if-match"`, a change of a text has no `ifMatch`. */
export class PreconditionRequiredError extends DocketError {}
/** 429: a limit is reached. */
export class TooManyRequestsError extends DocketError {}
/** 502, 503 or 504: the service is overloaded, or a proxy cannot reach it. */
export class UnavailableError extends DocketError {}

/** Status 0: the connection failed, or was lost during the response. A write may have been committed. */
export class ConnectionError extends DocketError {
  constructor(message: string, options: ErrorOptions = {}) {
    super(0, message, options)
  }
}

const classes: Record<number, typeof DocketError> = {
  400: BadRequestError,
  401: UnauthorizedError,
  403: ForbiddenError,
  404: NotFoundError,
  409: ConflictError,
  410: GoneError,
  412: PreconditionFailedError,
  413: PayloadTooLargeError,
  422: KeyReusedError,
  428: PreconditionRequiredError,
  429: TooManyRequestsError,
  502: UnavailableError,
  503: UnavailableError,
  504: UnavailableError,
}

/** Returns the error of a response: an instance of the class of its status. */
export function errorOf({ status, statusText, headers }: Response, body: unknown): DocketError {
  const { message } = (typeof body === 'object' && body !== null ? body : {}) as { message?: unknown }
  const text =
    typeof message === 'string' ? message : `The service responded with ${status} ${statusText}`.trim()
  const ErrorClass = classes[status] ?? DocketError
  const etag = headers.get('etag') ?? undefined
  return new ErrorClass(status, text, { body, retryAfterMs: retryAfterMs(headers.get('retry-after')), etag })
}

/** Reads `Retry-After`: a number of seconds, or a date (RFC 9110, 10.2.3). */
function retryAfterMs(text: string | null): number | undefined {
  if (text === null) return undefined
  if (/^\s*\d+\s*$/.test(text)) return Number(text) * 1_000
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now())
}
