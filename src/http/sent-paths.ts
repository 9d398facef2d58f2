import { decoded } from '../hosts.ts'
import { pathnameOf } from '../responses/reply.ts'

type Respond = (request: Request) => Response | Promise<Response>
/** Bun decodes each segment of the path as the client sent the path. */
type SentRequest = Request & { params: Record<string, string> }

/** The maximum number of segments of a path that is compared. Every route has fewer segments. */
const maxSegments = 12

/**
 * Returns routes of Bun's router for the requests that match no other of its routes. The URL of a request is normalized, so
 * `DELETE /projects/1/labels/..` has the URL of `DELETE /projects/1`. These routes compare the URL with the path that the
 * client sent: if they differ, the request gets 404.
 */
export function sentPathRoutes(respond: Respond): Record<string, Respond> {
  const reject: Respond = ({ method, headers }) =>
    respond(new Request('http://docket/changed-path', { method, headers }))
  const compare: Respond = (request) => {
    const sent = Object.values((request as SentRequest).params)
    return isNormalized(pathnameOf(request), sent) ? respond(request) : reject(request)
  }
  const routes: Record<string, Respond> = { '/*': compare }
  for (let count = 1, path = '/:s1'; count <= maxSegments; path += `/:s${++count}`) {
    // For paths with and without a slash at the end. Elysia removes the last slash of a route, so `//` means `/`. The
    // process that retires its port does not remove the slash.
    for (const ending of ['', '/', '//']) routes[path + ending] = compare
    routes[`${path}/*`] = reject
  }
  return routes
}

/** A slash may follow the last segment. */
function isNormalized(pathname: string, sent: string[]): boolean {
  const segments = pathname.replace(/\/$/, '').split('/').slice(1)
  return segments.length === sent.length && segments.every((segment, at) => decoded(segment) === sent[at])
}
