import { Elysia } from 'elysia'

const methods = 'GET, POST, PATCH, DELETE'
const asked =
  'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Traceparent'
const told =
  'ETag, Link, Location, Docket-Version, Retry-After, RateLimit, RateLimit-Policy, X-Request-Id, Idempotency-Replayed'

/**
 * Lets pages of these origins call the API from a browser; `*` lets all. Without any, nothing is added to an answer
 * and browsers refuse. Tokens travel in a header and never in a cookie, so credentials are not allowed.
 */
export function cors(origins: string[]) {
  const app = new Elysia({ name: 'cors' })
  if (origins.length === 0) return app
  const isOpen = origins.includes('*')
  if (!isOpen) {
    // Appended: what an answer depends on beside the origin, it says itself.
    app.mapResponse({ as: 'global' }, ({ response }) => {
      if (response instanceof Response) response.headers.append('vary', 'Origin')
    })
  }
  return app.onRequest(({ request, set }) => {
    const origin = request.headers.get('origin')
    if (!origin || !(isOpen || origins.includes(origin))) return
    set.headers['access-control-allow-origin'] = isOpen ? '*' : origin
    set.headers['access-control-expose-headers'] = told
    if (request.method !== 'OPTIONS' || !request.headers.has('access-control-request-method')) return
    set.headers['access-control-allow-methods'] = methods
    set.headers['access-control-allow-headers'] = asked
    set.headers['access-control-max-age'] = '600'
    if (!isOpen) set.headers.vary = 'Origin'
    return new Response(null, { status: 204, headers: set.headers as Record<string, string> })
  })
}
