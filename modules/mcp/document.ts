import { Type } from '@sinclair/typebox'
import { headerRefs, headersOf, noStoreHeader } from '../../src/openapi/headers.ts'
import { operation } from '../../src/openapi/operation.ts'
import { named } from '../../src/schema/response.ts'
import { forbidden } from '../../src/responses/errors.ts'

export const originNotAllowed = () =>
  forbidden('This origin is not allowed; the operator can add it to CORS_ORIGINS')

const description =
  'The endpoint of the [Model Context Protocol](https://modelcontextprotocol.io) for agents, also at `/api/v1/mcp`. It has no sessions: every request is one message of JSON-RPC 2.0. It accepts the revision 2026-07-28, and earlier revisions, whose responses are event streams. The response to `tools/list` describes the tools. For a token with the scope `read`, the list contains only tools that read. Each message counts as one read. The requests that a tool sends to the API also count. If the request has an `Origin`, it must be in CORS_ORIGINS or be the origin of the service.'

const Message = named(
  'McpMessage',
  Type.Object(
    {
      jsonrpc: Type.Literal('2.0'),
      id: Type.Optional(
        Type.Union([Type.String(), Type.Integer()], {
          description: 'The response has the same id. A notification has no id, and its response has no body',
        }),
      ),
      method: Type.String({ description: 'The method, for example tools/list or tools/call' }),
      params: Type.Optional(
        Type.Object({}, { additionalProperties: true, description: 'The parameters of the method' }),
      ),
    },
    {
      description: 'A request or a notification of JSON-RPC 2.0',
      examples: [
        {
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name: 'find', arguments: { text: 'plate' } },
        },
      ],
    },
  ),
)

const Id = Type.Union([Type.String(), Type.Integer(), Type.Null()], {
  description: 'The id of the request; null if the body is not a message',
})
const Reply = named(
  'McpReply',
  Type.Object({
    jsonrpc: Type.Literal('2.0'),
    id: Id,
    result: Type.Optional(
      Type.Object({}, { additionalProperties: true, description: 'The result of the method' }),
    ),
    error: Type.Optional(
      Type.Object(
        { code: Type.Integer(), message: Type.String(), data: Type.Optional(Type.Unknown()) },
        { description: 'Present instead of `result` if the message was rejected' },
      ),
    ),
  }),
)

const result = { content: [{ type: 'text', text: '{"tasks":[]}' }] }
const reply = { jsonrpc: '2.0', id: 1, result }
const headers = { ...headerRefs(headersOf.write), 'Cache-Control': noStoreHeader }

const rejected = (reason: string, code: number, message: string) => ({
  description: reason,
  headers,
  content: {
    'application/json': { schema: Reply, example: { jsonrpc: '2.0', id: null, error: { code, message } } },
  },
})

const responses = {
  200: {
    description: 'The response to the message',
    headers: { ...headers, ...headerRefs(['X-Accel-Buffering']) },
    content: {
      'application/json': { schema: Reply, example: reply },
      'text/event-stream': {
        schema: Type.String({ description: 'Server-sent events: `data` of the last event is the response' }),
        example: `event: message\ndata: ${JSON.stringify(reply)}\n\n`,
      },
    },
  },
  202: { description: 'A notification was received', headers },
  400: rejected(
    'The body is not one message, or contradicts the headers',
    -32_700,
    'The body must be valid JSON',
  ),
  404: rejected('The method does not exist', -32_601, 'Method not found'),
  406: rejected(
    'The request does not accept both content types of the response',
    -32_000,
    'Not Acceptable: Client must accept both application/json and text/event-stream',
  ),
}

const { detail } = operation({
  ...{ id: 'callMcp', tag: 'Agents', summary: 'Send a message of an agent', description, scope: 'read' },
  responses,
  general: [408, 413, 415],
  errors: [originNotAllowed()],
})

/** The route's part of the OpenAPI document. The schema does not validate messages, because errors must be JSON-RPC errors. */
export const document = {
  ...detail,
  requestBody: { required: true, content: { 'application/json': { schema: Message } } },
}
