import { Elysia } from 'elysia'
import { openConcurrencyLimit } from '../../src/admission/concurrency-limit.ts'
import { readJson } from '../../src/http/json-body.ts'
import { guarded } from '../../src/http/guards.ts'
import type { RouteBuilders } from '../../src/http/route-builders.ts'
import type { ReadRequest } from '../../src/commands/query.ts'
import { HttpError } from '../../src/responses/errors.ts'
import type { Services } from '../../src/services.ts'
import type { Handle } from './call.ts'
import { openRequireOrigin } from './origin.ts'
import { invalidRequest, parseError, withHeaders } from './responses.ts'
import { ownIteration } from '../../src/admission/own-iteration.ts'

/** The most slots of calls in progress. A call needs memory for its message and 30 KB for the protocol. */
const limits = { what: 'calls of tools', ofAll: 10_000, ofAccount: 1_000 }
/** A call has one slot for each 16 KiB of its message. */
const bytesOfSlot = 16_384

type Context = Pick<ReadRequest, 'request' | 'caller' | 'permit'>

/**
 * Returns a function that opens the endpoint of the Model Context Protocol, with its part of the OpenAPI document.
 * `handle` runs the requests that tools send to the service.
 */
export function mcpRoutes(
  { readGuard }: RouteBuilders,
  { config, log, rejections }: Services,
  handle: Handle,
) {
  const callsInProgress = openConcurrencyLimit(limits)
  async function respond({ request, caller, permit }: Context): Promise<Response> {
    const body = await readJson(request, config).catch(toParseError)
    if (body instanceof HttpError) return parseError(body.message)
    if (Array.isArray(body)) return invalidRequest()
    await ownIteration(caller.userId)
    // The first request loads the package of the protocol.
    const { serve } = await import('./server.ts')
    const scope = caller.token?.scope === 'read' ? 'read' : 'write'
    // Each request of a tool needs a permit of the account, so the message must not hold a permit meanwhile.
    const send: Handle = async (toolRequest) => {
      permit.release()
      const response = await handle(toolRequest)
      await ownIteration(caller.userId)
      return response
    }
    const acquire = () => callsInProgress.acquire(caller.userId, slotsOf(request, config))
    return withHeaders(await serve({ request, body, scope, send, acquire, log }))
  }
  const handler = guarded(async ({ request, caller, permit }: Context) => {
    const response = await respond({ request, caller, permit })
    return response.status < 400 ? response : rejections.delay(request, response, caller.userId)
  })
  return (detail: object) =>
    new Elysia()
      .onTransform(openRequireOrigin(config))
      .use(readGuard)
      .post('/mcp', handler as never, { parse: 'none', detail })
}

const slotsOf = ({ headers }: Request, { bodyBytes }: Services['config']): number =>
  Math.max(1, Math.ceil(Number(headers.get('content-length') ?? bodyBytes) / bytesOfSlot))

function toParseError(error: unknown): HttpError {
  if (error instanceof HttpError && error.status === 400) return error
  throw error
}
