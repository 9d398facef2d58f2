import { pathnameOf, requestId, baseHeaders } from '../responses/reply.ts'
import { HttpError } from '../responses/errors.ts'

export type Methods = ReturnType<typeof openMethods>

export function openMethods() {
  let routes: { pattern: RegExp; method: string }[] = []
  return {
    register(all: { method: string; path: string }[]): void {
      routes = all.map(({ method, path }) => ({ pattern: patternOf(path), method }))
    },

    /** Handles a request without a route: responds to OPTIONS, and returns the error 404 or 405 for other methods. */
    respond(request: Request): Response | HttpError {
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
    },
  }
}

const order = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

function patternOf(path: string): RegExp {
  const literal = path.replace(/\/$/, '').replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`^${literal.replace(/:\w+/g, '[^/]+')}/?$`)
}
