import { Elysia, ValidationError } from 'elysia'
import { isUnavailable, toHttpError } from '../postgres/errors.ts'
import { badRequest, errorResponse, type HttpError, internalError } from '../responses/errors.ts'
import type { Rejections } from '../admission/rejections.ts'
import type { Permit } from '../admission/scheduler.ts'
import { type Share, setRateLimitHeaders } from './limits/budget.ts'
import { pathnameOf, requestId } from '../responses/reply.ts'
import { acceptsStream, endedStream } from '../responses/server-sent-events.ts'
import { validationError } from '../schema/validation.ts'
import type { Methods } from './methods.ts'
import type { RequestInfo, Telemetry } from './telemetry.ts'

/** Gives every error the one shape and a request id; the cause of an unexpected one is only logged. */
export const errors = (methods: Methods, observed: Telemetry, rejections: Rejections) =>
  // Elysia reads this text, and prepares for every route what it names.
  new Elysia({ name: 'errors' }).onError({ as: 'global' }, (failed: ErrorContext) => {
    const { error, code, request, route, params, caller, claims, share, permit, began, set } = failed
    permit?.release()
    const refusal = code === 'NOT_FOUND' ? methods.respond(request) : httpErrorOf(error, code)
    observed.end({ request, route, began }, refusal.status)
    const accountId = permit?.queue.accountId
    if (refusal instanceof Response) return rejections.delay(request, refusal, accountId)
    const id = requestId()
    const reason = refusal.status === 500 ? reasonOf(error) : refusal.message
    observed.logError({ request, route, params, caller, claims, began }, refusal.status, id, reason)
    const isStreamed = mayStream(request)
    if (isStreamed && isUnavailable(error) && acceptsStream(request)) {
      set.status = 200 // Elysia would make it 500
      return endedStream(refusal)
    }
    const response = errorResponse(refusal, id)
    if (isStreamed) response.headers.append('vary', 'Accept')
    if (share && refusal.status !== 429) setRateLimitHeaders(response.headers, share)
    return rejections.delay(request, response, accountId)
  })

interface ErrorContext extends RequestInfo {
  error: unknown
  code: unknown
  share?: Share | null
  permit?: Permit
  set: { status?: number | string }
}

const mayStream = (request: Request): boolean =>
  request.method === 'GET' && pathnameOf(request).endsWith('/events')

function httpErrorOf(error: unknown, code: unknown): HttpError {
  const refusal = toHttpError(error)
  if (refusal) return refusal
  if (error instanceof ValidationError && 'Errors' in error.validator) {
    return validationError(error.validator.Errors(error.value))
  }
  if (code === 'PARSE') return badRequest('The request could not be read')
  return internalError()
}

/** The message of a database error may hold values that callers sent. */
function reasonOf(error: unknown) {
  const { name, message, code, stack } = error as Partial<Error & { code: string }>
  return code ? { name, code, stack: stack?.split('\n').slice(1, 6) } : { name, message, stack }
}
