import { Elysia } from 'elysia'
import type { RouteBuilders } from '../../src/http/route-builders.ts'
import { readJson } from '../../src/http/json-body.ts'
import { HttpError } from '../../src/responses/errors.ts'
import type { ReadRequest } from '../../src/commands/query.ts'
import type { Services } from '../../src/services.ts'
import type { Handle } from './call.ts'
import { parseError, withHeaders } from './responses.ts'
import { openRequireOrigin } from './origin.ts'

/** The endpoint of the Model Context Protocol. `handle` runs the requests that tools send to the service. */
export function mcpRoutes({ readGuard }: RouteBuilders, { config, log }: Services, handle: Handle) {
  const requireOrigin = openRequireOrigin(config)
  // The package is loaded by the first request.
  const load = async () => {
    const { openServer } = await import('./server.ts')
    return { read: openServer('read', handle, log), write: openServer('write', handle, log) }
  }
  let servers: ReturnType<typeof load> | undefined
  const respond = async ({ request, caller, permit }: Pick<ReadRequest, 'request' | 'caller' | 'permit'>) => {
    const body = await readJson(request, config).catch((error: unknown) => {
      if (error instanceof HttpError && error.status === 400) return error
      throw error
    })
    if (body instanceof HttpError) return parseError(body.message)
    const server = (await (servers ??= load()))[caller.token?.scope === 'read' ? 'read' : 'write']
    // The requests of a tool take places of the account themselves.
    permit.release()
    return withHeaders(await server.fetch(request, { parsedBody: body }))
  }
  const hooks = { parse: 'none' as const, transform: requireOrigin, detail: { hide: true } }
  const handler = ({ request, caller, permit }: ReadRequest) => respond({ request, caller, permit })
  return new Elysia().use(readGuard).post('/mcp', handler as never, hooks)
}
