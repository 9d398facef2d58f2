import { Elysia } from 'elysia'
import { readTraceparent } from './traceparent.ts'
import type { Span, Tracing } from './tracing.ts'

/** What is known of a request when it is answered. */
interface Known {
  request: Request
  route?: string
}

export type Traced = ReturnType<typeof openTraced>

/** Makes a span of each request; without a tracing it only knows what trace a request says to be of. */
export function openTraced(tracing: Tracing | undefined) {
  const spans = new WeakMap<Request, Span>()

  function end({ request, route }: Known, status: number): void {
    const span = spans.get(request)
    if (!span) return
    const attributes = { 'http.route': route, 'http.response.status_code': status }
    span.end(attributes, status >= 500)
  }

  return {
    traceIdOf: (request: Request): string | undefined =>
      spans.get(request)?.traceId ?? readTraceparent(request.headers.get('traceparent'))?.traceId,

    /** For the work that a request asks for elsewhere. */
    traceparentOf: tracing ? (request: Request) => spans.get(request)?.traceparent : () => undefined,

    refused: end,

    plugin(): Elysia {
      const app = new Elysia({ name: 'traced' })
      if (!tracing) return app
      app
        .onTransform({ as: 'global' }, ({ request, route }) => {
          const { method, headers } = request
          const attributes = { 'http.request.method': method, 'url.scheme': 'http' }
          const span = tracing.begin(`${method} ${route}`, 'server', headers.get('traceparent'), attributes)
          spans.set(request, span)
        })
        .onAfterHandle({ as: 'global' }, ({ request, route, response }) =>
          end({ request, route }, response instanceof Response ? response.status : 200),
        )
      return app
    },
  }
}
