import { Elysia } from 'elysia'
import { isTransient, mayBeWritten, toHttpError } from '../postgres/errors.ts'
import {
  type ErrorDetails,
  errorResponse,
  HttpError,
  internalError,
  outcomeUnknown,
  withOutcome,
} from '../responses/errors.ts'
import type { Scheduler } from '../admission/fair-queue.ts'
import { setRateLimitHeaders } from '../http/limits.ts'
import { baseHeaders, pathnameOf, requestId } from '../responses/reply.ts'
import { acceptsStream, endedStream } from '../responses/server-sent-events.ts'
import type { RequestInfo, Telemetry } from './telemetry.ts'

const details = new WeakMap<Request, ErrorDetails>()

/** Returns the details of the error that a request of this process got. Responses do not contain them. */
export const errorDetailsOf = (request: Request): ErrorDetails => details.get(request) ?? {}

/** Responds to every error with the same JSON fields. The cause of an unexpected error is only logged. */
export function errors(routesOf: () => Route[], telemetry: Telemetry, scheduler: Scheduler) {
  const respondUnrouted = openRespondUnrouted(routesOf)
  // Elysia prepares every property of the context that this function's source text names, so the function names few.
  return new Elysia({ name: 'errors' }).onError({ as: 'global' }, (context: ErrorContext) => {
    const { error, code, request, route, params, caller, claims, share, permit, began, set } = context
    const failure = code === 'NOT_FOUND' ? respondUnrouted(request) : failureOf(error, request)
    telemetry.end({ request, route, began }, failure.status)
    if (failure instanceof Response) return scheduler.reject(request, failure, permit)
    details.set(request, failure.details)
    const id = requestId()
    const reason = failure.status === 500 ? reasonOf(error) : messageOf(failure, error)
    telemetry.logError({ request, route, params, caller, claims, began }, failure.status, id, reason)
    const isStreamed = request.method === 'GET' && pathnameOf(request).endsWith('/events')
    if (isStreamed && isTransient(error) && acceptsStream(request)) {
      // Without this line, Elysia responds with 500.
      set.status = 200
      permit?.release()
      return endedStream(failure)
    }
    const response = errorResponse(failure, id)
    if (isStreamed) response.headers.append('vary', 'Accept')
    if (share && failure.status !== 429) setRateLimitHeaders(response.headers, share)
    return scheduler.reject(request, response, permit)
  })
}

type ErrorContext = RequestInfo & { error: unknown; code: unknown; set: { status?: number | string } }

/** A write with status 503 always gets a message about its outcome. */
function failureOf(error: unknown, request: Request): HttpError {
  const failure = toHttpError(error) ?? internalError()
  if (failure.status !== 503 || request.method === 'GET' || request.method === 'HEAD') return failure
  return mayBeWritten(error) ? outcomeUnknown() : withOutcome(failure)
}

/** For a temporary error of Postgres, also returns what Postgres or the network reported. */
const messageOf = ({ message }: HttpError, error: unknown): string =>
  isTransient(error) ? `${message}: ${(error as Error).message}` : message

/** Leaves out the message of a Postgres error (an error with a code), which may contain a caller's data. */
function reasonOf(error: unknown) {
  const { name, message, code, stack } = error as Partial<Error & { code: string }>
  return code ? { name, code, stack: stack?.split('\n').slice(1, 6) } : { name, message, stack }
}

type Route = { method: string; path: string }

/** Returns a function for requests without a route: it responds to OPTIONS, and returns 404 or 405 for other methods. */
function openRespondUnrouted(routesOf: () => Route[]) {
  let routes: { pattern: RegExp; method: string }[] | undefined
  return (request: Request): Response | HttpError => {
    routes ??= routesOf().map(({ method, path }) => ({ pattern: patternOf(path), method }))
    const path = pathnameOf(request)
    const allowed = new Set(routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method))
    if (allowed.size === 0) return new HttpError(404, 'This path does not exist')
    if (allowed.has('GET')) allowed.add('HEAD')
    const allow = order.filter((method) => allowed.has(method) || method === 'OPTIONS').join(', ')
    if (request.method === 'OPTIONS') {
      const headers = { ...baseHeaders, allow, 'x-request-id': requestId() }
      return new Response(null, { status: 204, headers })
    }
    const method = request.method.slice(0, 20)
    return new HttpError(405, `${method} is not allowed at this path; allowed: ${allow}`, { allow })
  }
}

const order = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

function patternOf(path: string): RegExp {
  const literal = path.replace(/\/$/, '').replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`^${literal.replace(/:\w+/g, '[^/]+')}/?$`)
}
