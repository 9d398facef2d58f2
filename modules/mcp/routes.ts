import { Elysia } from 'elysia'
import { openConcurrencyLimit } from '../../src/admission/fair-queue.ts'
import { readJson } from '../../src/http/json-body.ts'
import { guarded } from '../../src/http/guards.ts'
import type { RouteBuilders } from '../../src/routes/route-builders.ts'
import type { ReadRequest } from '../../src/commands/query.ts'
import { HttpError } from '../../src/responses/errors.ts'
import type { Services } from '../../src/services.ts'
import type { Handle } from './call.ts'
import { originNotAllowed } from './document.ts'
import { isIP } from 'node:net'
import type { Config } from '../../src/config.ts'
import { hostnameOf } from '../../src/hosts.ts'
import { baseHeaders, requestId } from '../../src/responses/reply.ts'
import { ownIteration } from '../../src/admission/expensive.ts'

/** The maximum number of slots of calls in progress. A call needs memory for its message and 30 KB for the protocol. */
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
  { config, log, scheduler }: Services,
  handle: Handle,
) {
  const callsInProgress = openConcurrencyLimit(limits)
  async function respond({ request, caller, permit }: Context): Promise<Response> {
    const body = await readJson(request, config).catch((error: unknown) => {
      if (error instanceof HttpError && error.status === 400) return error
      throw error
    })
    if (body instanceof HttpError) return rpcError(-32_700, body.message)
    // Only an old revision has batches of messages. All messages of a batch would run at once, without the usual limits.
    if (Array.isArray(body))
      return rpcError(
        -32_600,
        'The body must be one message, not a batch: send each message in its own request',
      )
    await ownIteration(caller.userId)
    // The first request loads the package of the protocol.
    const { serve } = await import('./server.ts')
    return serve({
      ...{ request, body, log, userId: caller.userId },
      scope: caller.token?.scope === 'read' ? 'read' : 'write',
      // Each request of a tool needs a permit of the account, so the message must not hold a permit meanwhile.
      async handle(toolRequest) {
        permit.release()
        const response = await handle(toolRequest)
        await ownIteration(caller.userId)
        return response
      },
      acquire: () => callsInProgress.acquire(caller.userId, slotsOf(request, config)),
    })
  }
  const handler = guarded(async (context: Context) => {
    const { request, permit } = context
    const response = await respond(context)
    const own = { ...baseHeaders, 'cache-control': 'no-store', 'x-request-id': requestId() }
    for (const [name, value] of Object.entries(own)) response.headers.set(name, value)
    return response.status < 400 ? response : scheduler.reject(request, response, permit)
  })
  return (detail: object) =>
    new Elysia()
      .onTransform(openRequireOrigin(config))
      .use(readGuard)
      .post('/mcp', handler as never, { parse: 'none', detail })
}

const slotsOf = ({ headers }: Request, { bodyBytes }: Services['config']): number =>
  Math.max(1, Math.ceil(Number(headers.get('content-length') ?? bodyBytes) / bytesOfSlot))

const rpcError = (code: number, message: string): Response =>
  Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status: 400 })

/**
 * Returns a check that rejects pages of other origins with 403: the protocol requires it against DNS rebinding. An attacker
 * can choose a host name that leads to the service, so `Host` counts only if it is localhost or an IP address.
 */
function openRequireOrigin({ corsOrigins, publicUrl }: Pick<Config, 'corsOrigins' | 'publicUrl'>) {
  const allowed = [...corsOrigins, ...(publicUrl ? [new URL(publicUrl).origin] : [])]
  return ({ request: { headers } }: { request: Request }): void => {
    const origin = headers.get('origin')
    if (origin === null || allowed.includes('*') || allowed.includes(origin)) return
    if (!isOwnAddress(origin, headers.get('host'))) throw originNotAllowed()
  }
}

function isOwnAddress(origin: string, host: string | null): boolean {
  if (!URL.canParse(origin)) return false
  const url = new URL(origin)
  return url.host === host && (url.hostname === 'localhost' || isIP(hostnameOf(url)) !== 0)
}
