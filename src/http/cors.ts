import { Elysia } from 'elysia'

const requestHeaders =
  'Authorization, Content-Type, Docket-If-Claim, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Traceparent'
const exposedHeaders =
  'ETag, Link, Location, Docket-Indexed, Docket-Version, Retry-After, RateLimit, RateLimit-Policy, X-Request-Id, Idempotency-Replayed'

/** Allows pages of these origins; `*` allows all. Credentials are not allowed, because tokens are sent in a header. */
export function cors(origins: string[]) {
  const app = new Elysia({ name: 'cors' })
  if (origins.length === 0) return app
  const isOpen = origins.includes('*')
  if (!isOpen) {
    // `append` keeps the values of Vary that the route has set.
    app.mapResponse({ as: 'global' }, ({ response }) => {
      if (response instanceof Response) response.headers.append('vary', 'Origin')
    })
  }
  return app.onRequest(({ request, set }) => {
    const origin = request.headers.get('origin')
    if (!origin || !(isOpen || origins.includes(origin))) return
    set.headers['access-control-allow-origin'] = isOpen ? '*' : origin
    set.headers['access-control-expose-headers'] = exposedHeaders
    if (request.method !== 'OPTIONS' || !request.headers.has('access-control-request-method')) return
    set.headers['access-control-allow-methods'] = 'GET, POST, PUT, PATCH, DELETE'
    set.headers['access-control-allow-headers'] = requestHeaders
    set.headers['access-control-max-age'] = '600'
    if (!isOpen) set.headers.vary = 'Origin'
    return new Response(null, { status: 204, headers: set.headers as Record<string, string> })
  })
}
