import { Elysia } from 'elysia'
import type { RequestDurations } from '../metrics/counts.ts'
import type { Services } from '../services.ts'
import { readTraceparent, type Span } from '../tracing/tracing.ts'
import type { GuardedContext } from './guards.ts'

/**
 * The parts of a request that logs and metrics use. A part is undefined if the request failed too early. `began` is a time of
 * performance.now().
 */
export type RequestInfo = Partial<Omit<GuardedContext, 'params' | 'query'>> & {
  request: Request
  route?: string
  began?: number
  params?: Record<string, string | undefined>
  query?: object
}

/** Logs a status below 500 only with `logRequests`: a line costs 8 µs. Never logs a header, a query or a body. */
export class Telemetry {
  private readonly spans = new WeakMap<Request, Span>()
  private readonly requests: RequestDurations | undefined

  constructor(private readonly services: Services) {
    const { config, counts } = services
    this.requests = config.metricsPort > 0 ? counts.requests : undefined
  }

  end({ request, route, began }: RequestInfo, status: number): void {
    this.requests?.add(route || 'none', request.method, status, began)
    if (!this.services.tracing) return
    const attributes = { 'http.route': route, 'http.response.status_code': status }
    this.spans.get(request)?.end(attributes, status >= 500)
  }

  logError(info: RequestInfo, status: number, requestId: string, reason: unknown): void {
    const { config, log } = this.services
    if (status < 500 && !config.logRequests) return
    const line = this.lineOf(info, status, requestId)
    if (status < 500) log.info(line, 'answered')
    else if (status === 500) log.error({ ...line, error: reason }, 'request failed')
    else log.warn({ ...line, reason }, 'request rejected: temporarily unavailable')
  }

  /** Returns the first hooks of every route: with `onRequest`, Elysia would not use Bun's faster router. */
  plugin(): Elysia {
    const { config, log, tracing } = this.services
    const app = new Elysia({ name: 'telemetry' })
    if (!config.logRequests && !this.requests && !tracing) return app
    return app
      .onTransform({ as: 'global' }, (context) => {
        // Elysia parses every part of the request if the whole context is passed to a function.
        const { request, route } = context
        ;(context as RequestInfo).began = performance.now()
        if (!tracing) return
        const { method, headers } = request
        const attributes = { 'http.request.method': method, 'url.scheme': 'http' }
        const span = tracing.begin(`${method} ${route}`, headers.get('traceparent'), attributes)
        this.spans.set(request, span)
      })
      .onAfterHandle({ as: 'global' }, (context: RequestInfo & { response?: unknown }) => {
        const { request, route, began, params, query, body, caller, claims, response } = context
        this.end({ request, route, began }, response instanceof Response ? response.status : 200)
        if (!config.logRequests || !(response instanceof Response)) return
        const info = { request, route, began, params, query, body, caller, claims }
        const id = response.headers.get('x-request-id')
        log.info(this.lineOf(info, response.status, id), 'answered')
      })
  }

  private lineOf({ request, route, began, ...info }: RequestInfo, status: number, requestId: string | null) {
    const { method, headers } = request
    const ms = began && Math.round((performance.now() - began) * 10) / 10
    const own = this.spans.get(request)
    const trace_id = (own ?? readTraceparent(headers.get('traceparent')))?.traceId
    return { requestId, trace_id, ...idsOf(route, info), method, route, status, ms }
  }
}

function idsOf(
  route: string | undefined,
  { caller, claims, params, query, body }: Omit<RequestInfo, 'request'>,
) {
  const isInPath = route?.startsWith('/api/v1/projects/:id')
  const named = (query ?? {}) as { projectId?: unknown }
  const projectId = isInPath ? params?.id : (named.projectId ?? (body as typeof named | null)?.projectId)
  return {
    userId: (caller ?? claims)?.userId,
    tokenId: caller?.token?.id,
    projectId: typeof projectId === 'string' ? projectId.slice(0, 100) : undefined,
  }
}
