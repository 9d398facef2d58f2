import { pathnameOf, requestId } from '../wire/answers.ts'
import { Refusal } from '../wire/refusals.ts'

export type Methods = ReturnType<typeof openMethods>

/** What each path takes, told by the routes themselves. Asked only where no route was found. */
export function openMethods() {
  const paths: { pattern: RegExp; method: string }[] = []

  /** The methods of a path, or nothing for one that is not there. */
  function methodsAt(request: Request): string[] {
    const path = pathnameOf(request)
    const found = new Set(paths.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method))
    if (found.has('GET')) found.add('HEAD')
    if (found.size > 0) found.add('OPTIONS')
    return order.filter((method) => found.has(method))
  }

  return {
    learn(routes: { method: string; path: string }[]): void {
      for (const { method, path } of routes) paths.push({ pattern: patternOf(path), method })
    },

    /** The answer to OPTIONS, or why nothing else is there. */
    answer(request: Request): Response | Refusal {
      const methods = methodsAt(request)
      if (methods.length === 0) return new Refusal(404, 'There is nothing at this path')
      const allow = methods.join(', ')
      if (request.method === 'OPTIONS') {
        const headers = { allow, 'x-content-type-options': 'nosniff', 'x-request-id': requestId() }
        return new Response(null, { status: 204, headers })
      }
      const method = request.method.slice(0, 20)
      return new Refusal(405, `${method} is not allowed at this path, which takes ${allow}`, { allow })
    },
  }
}

const order = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

const patternOf = (path: string): RegExp =>
  new RegExp(
    `^${path
      .replace(/\/$/, '')
      .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
      .replace(/:\w+/g, '[^/]+')}/?$`,
  )
