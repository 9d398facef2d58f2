import { isIP } from 'node:net'
import { Type } from '@sinclair/typebox'
import { openConcurrencyLimit } from '../../src/admission/fair-queue.ts'
import { readJson } from '../../src/http/json-body.ts'
import type { OwnRoute } from '../../src/routes/add-routes.ts'
import type { ReadRequest } from '../../src/commands/query.ts'
import { forbidden, HttpError } from '../../src/responses/errors.ts'
import type { Services } from '../../src/services.ts'
import type { Handle } from './tool.ts'
import type { Config } from '../../src/config.ts'
import { hostnameOf } from '../../src/hosts.ts'
import { baseHeaders, requestId } from '../../src/responses/reply.ts'
import { ownIteration } from '../../src/admission/expensive.ts'
import { headerRefs, headersOf, noStoreHeader } from '../../src/openapi/components.ts'
import { operation } from '../../src/openapi/operation.ts'
import { named } from '../../src/schema/response.ts'

/** The maximum number of slots of calls in progress. A call needs memory for its message and 30 KB for the protocol. */
const limits = { what: 'calls of tools', ofAll: 10_000, ofAccount: 1_000 }
/** A call has one slot for each 16 KiB of its message. */
const bytesOfSlot = 16_384

type Context = Pick<ReadRequest, 'request' | 'caller' | 'permit'>

/** @param handle runs the requests that tools send to the service */
export function mcpRoute({ config, log, scheduler }: Services, handle: Handle): OwnRoute {
  const callsInProgress = openConcurrencyLimit(limits)
  async function respond({ request, caller, permit }: Context): Promise<Response> {
    const body = await readJson(request, config).catch((error: unknown) => {
      if (error instanceof HttpError && error.status === 400) return rpcError(-32_700, error.message)
      throw error
    })
    if (body instanceof Response) return body
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
  return {
    detail,
    budget: 'reads',
    precheck: openRequireOrigin(config),
    async respond(context) {
      const { request, permit } = context
      const response = await respond(context)
      const own = { ...baseHeaders, 'cache-control': 'no-store', 'x-request-id': requestId() }
      for (const [name, value] of Object.entries(own)) response.headers.set(name, value)
      return response.status < 400 ? response : scheduler.reject(request, response, permit)
    },
  }
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
  return ({ headers }: Request): void => {
    const origin = headers.get('origin')
    if (origin === null || allowed.includes('*') || allowed.includes(origin)) return
    const url = URL.parse(origin)
    const isOwn = url?.host === headers.get('host')
    if (!isOwn || (url.hostname !== 'localhost' && isIP(hostnameOf(url)) === 0)) throw originNotAllowed()
  }
}

const originNotAllowed = () =>
  forbidden('This origin is not allowed; the operator can add it to CORS_ORIGINS')

const description =
  'The endpoint of the [Model Context Protocol](https://modelcontextprotocol.io) for agents, also at `/api/v1/mcp`. It has no sessions: every request is one message of JSON-RPC 2.0. It accepts the revision 2026-07-28, and earlier revisions, whose responses are event streams. The response to `tools/list` describes the tools. For a token with the scope `read`, the list contains only tools that read. Each message counts as one read. The requests that a tool sends to the API also count. If the request has an `Origin`, it must be in CORS_ORIGINS or be the origin of the service.'

const example = {
  ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
  params: { name: 'find', arguments: { text: 'plate' } },
}
const reply = { jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text: '{"tasks":[]}' }] } }

const message = (name: string, options: object) =>
  named(name, Type.Object({}, { additionalProperties: true, ...options }))
const Message = message('McpMessage', {
  description: 'A request or a notification of JSON-RPC 2.0',
  examples: [example],
})
const Reply = message('McpReply', {
  description: 'A response of JSON-RPC 2.0: `error` in place of `result` means that the message was rejected',
})

const headers = { ...headerRefs(headersOf.write), 'Cache-Control': noStoreHeader }
const json = (example: object) => ({ 'application/json': { schema: Reply, example } })
const rejected = (description: string, code: number, message: string) => ({
  ...{ description, headers },
  content: json({ jsonrpc: '2.0', id: null, error: { code, message } }),
})
const Events = Type.String({ description: 'Server-sent events: `data` of the last event is the response' })
const events = `event: message\ndata: ${JSON.stringify(reply)}\n\n`
const notAcceptable = 'Not Acceptable: Client must accept both application/json and text/event-stream'

/** The route's part of the OpenAPI document. The schema does not validate messages, because errors must be JSON-RPC errors. */
const detail = operation({
  ...{ id: 'callMcp', tag: 'Agents', summary: 'Send a message of an agent', description, scope: 'read' },
  body: Message,
  responses: {
    200: {
      description: 'The response to the message',
      headers: { ...headers, ...headerRefs(['X-Accel-Buffering']) },
      content: { ...json(reply), 'text/event-stream': { schema: Events, example: events } },
    },
    202: { description: 'A notification was received', headers },
    400: rejected(
      'The body is not one message, or contradicts the headers',
      -32_700,
      'The body must be valid JSON',
    ),
    404: rejected('The method does not exist', -32_601, 'Method not found'),
    406: rejected('The request does not accept both content types of the response', -32_000, notAcceptable),
  },
  errors: [originNotAllowed()],
})
