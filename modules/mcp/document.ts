import { Type } from '@sinclair/typebox'
import { headerRefs, headersOf, noStoreHeader } from '../../src/openapi/components.ts'
import { operation } from '../../src/openapi/operation.ts'
import { forbidden } from '../../src/responses/errors.ts'
import { named } from '../../src/schema/response.ts'

export const originNotAllowed = () =>
  forbidden('This origin is not allowed; the operator can add it to CORS_ORIGINS')

const description =
  'The endpoint of the [Model Context Protocol](https://modelcontextprotocol.io) for agents, also at `/api/v1/mcp`. It has no sessions: every request is one message of JSON-RPC 2.0. It accepts the revision 2026-07-28, and earlier revisions, whose responses are event streams. The response to `tools/list` describes the tools. For a token with the scope `read`, the list contains only tools that read. Each message counts as one read. The requests that a tool sends to the API also count. If the request has an `Origin`, it must be in CORS_ORIGINS or be the origin of the service.'

const result = { content: [{ type: 'text', text: '{"tasks":[]}' }] }
const reply = { jsonrpc: '2.0', id: 1, result }
const request = {
  ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
  params: { name: 'find', arguments: { text: 'plate' } },
}

const optional = Type.Optional
const ids = [Type.String(), Type.Integer()]
const AnyFields = (description: string) => Type.Object({}, { additionalProperties: true, description })

const Message = named(
  'McpMessage',
  Type.Object(
    {
      jsonrpc: Type.Literal('2.0'),
      id: optional(
        Type.Union(ids, {
          description: 'The response has the same id. A notification has no id, and its response has no body',
        }),
      ),
      method: Type.String({ description: 'The method, for example tools/list or tools/call' }),
      params: optional(AnyFields('The parameters of the method')),
    },
    { description: 'A request or a notification of JSON-RPC 2.0', examples: [request] },
  ),
)

const Reply = named(
  'McpReply',
  Type.Object({
    jsonrpc: Type.Literal('2.0'),
    id: Type.Union([...ids, Type.Null()], {
      description: 'The id of the request; null if the body is not a message',
    }),
    result: optional(AnyFields('The result of the method')),
    error: optional(
      Type.Object(
        { code: Type.Integer(), message: Type.String(), data: optional(Type.Unknown()) },
        { description: 'Present instead of `result` if the message was rejected' },
      ),
    ),
  }),
)

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
export const { detail: document } = operation({
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
