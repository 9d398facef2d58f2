import { createMcpHandler, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server'
import type { TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import packageJson from '../../package.json' with { type: 'json' }
import { errorDetailsOf } from '../../src/http/errors.ts'
import { fingerprintBy } from '../../src/http/idempotency.ts'
import type { Log } from '../../src/logger.ts'
import {
  type ErrorDetails,
  unknownName,
  errorBody,
  HttpError,
  internalError,
} from '../../src/responses/errors.ts'
import { validationError } from '../../src/schema/validation.ts'
import { errorOf } from './advice.ts'
import { type Tool, type ApiResponse, type Call, type RequestOptions, ToolError } from './tool.ts'
import { apply, undo } from './tools/apply.ts'
import { changes, history } from './tools/changes.ts'
import { claimNext, extendOrRelease } from './tools/claims.ts'
import { find } from './tools/find.ts'
import { get } from './tools/get.ts'
import { projects } from './tools/projects.ts'

const identity = { name: 'docket', version: packageJson.version }
const instructions =
  'Docket tracks projects and tasks. `project` takes an id or a name. If an answer has `next`, repeat the call with it to get the rest. Writes take a `key`: if an answer is lost, send the same call with the same key, and the write is done once.'

/** How long clients may cache the list of tools, which changes only with a release. */
const listTtlMs = 3_600_000

/** All tools, in the order of `tools/list`. */
const tools: Tool[] = [
  ...[projects, find, get, apply, undo, changes],
  ...[claimNext, extendOrRelease, history],
]

const toolsOf = (scope: Tool['scope']) => tools.filter((tool) => scope === 'write' || tool.scope === 'read')

/** Keeps the part of JSON Schema that every client accepts. The enum of a schema replaces its description. */
const plain = ({ type, description, enum: values, items, properties, required }: TSchema): object => ({
  ...{ type, required },
  ...(values ? { enum: values } : { description }),
  ...(items && { items: plain(items) }),
  ...(properties && {
    properties: Object.fromEntries(
      Object.entries(properties as Record<string, TSchema>).map(([name, one]) => [name, plain(one)]),
    ),
  }),
})

const definitionsOf = (listed: Tool[]) =>
  listed.map(({ name, description, inputSchema, annotations }) => ({
    ...{ name, description, annotations },
    inputSchema: { ...plain(inputSchema), type: 'object' as const },
  }))

/** The server sends no requests to clients, so it never validates a response of a client. */
const jsonSchemaValidator = {
  getValidator: () => {
    throw new Error('The server sends no requests to clients')
  },
}

const definitions = { read: definitionsOf(toolsOf('read')), write: definitionsOf(tools) }
const options = {
  capabilities: { tools: {} },
  ...{ instructions, jsonSchemaValidator },
  cacheHints: { 'tools/list': { ttlMs: listTtlMs }, 'server/discover': { ttlMs: listTtlMs } },
}

interface Message {
  request: Request
  /** The parsed body of the request. */
  body: unknown
  /** The scope of the caller's token. */
  scope: Tool['scope']
  /** Sends a request of a tool to the service. */
  send: Handle
  /** Counts the call of a tool as in progress until the returned function is called. @throws HttpError 429, 503 */
  acquire(): () => void
  log: Log
}

/** Answers one message of a client. No message depends on an earlier message. */
export function serve({ request, body, scope, send, acquire, log }: Message): Promise<Response> {
  const open = () => {
    const server = new Server(identity, options)
    server.setRequestHandler('tools/list', () => ({ tools: definitions[scope] }))
    server.setRequestHandler('tools/call', ({ params }, { mcpReq }) => {
      const tool = findTool(params.name, scope)
      return runTool(tool, params.arguments ?? {}, openCall(send, request, mcpReq.signal), { acquire, log })
    })
    return server
  }
  const { fetch } = createMcpHandler(open, { legacy: 'stateless', maxSubscriptions: 0 })
  return fetch(request, { parsedBody: body })
}

/** @throws ProtocolError for an unknown name, with the names of the tools */
function findTool(name: string, scope: Tool['scope']): Tool {
  const found = tools.find((tool) => tool.name === name)
  if (found && toolsOf(scope).includes(found)) return found
  const names = toolsOf(scope).map((tool) => tool.name)
  const reason = found
    ? `The tool ${name} needs an API token with the scope write`
    : `${unknownName(name.slice(0, 100))}; the tools are ${names.join(', ')}`
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, reason)
}

export type Handle = (request: Request) => Promise<Response>

/** Opens a call. Its requests have the token and the trace headers of the client's request. */
function openCall(send: Handle, { headers }: Request, signal: AbortSignal): Call {
  const names = ['authorization', 'traceparent']
  const forwarded = names.flatMap((name) => (headers.has(name) ? [[name, headers.get(name)!]] : []))
  return {
    signal,
    async request<T>(method: string, path: string, { body, content, headers: more }: RequestOptions = {}) {
      signal.throwIfAborted()
      // `Request` removes the segments `.` and `..` from a URL, so such an id would select another route.
      if (/\/\.{1,2}(?=[/?]|$)/.test(path))
        throw new ToolError(404, 'No row has this id', 'Find the id with find')
      const text = body === undefined ? undefined : JSON.stringify(body)
      const bodyHeaders = text !== undefined && {
        'content-type': 'application/json',
        'content-length': String(new TextEncoder().encode(text).length),
      }
      const request = new Request(`http://docket/api/v1${path}`, {
        ...{ method, body: text, signal },
        headers: { ...Object.fromEntries(forwarded), ...bodyHeaders, ...more },
      })
      if (content !== undefined) fingerprintBy(request, content)
      return responseOf<T>(await send(request), errorDetailsOf(request))
    },
  }
}

async function responseOf<T>(response: Response, details: ErrorDetails): Promise<ApiResponse<T>> {
  const text = await response.text()
  const body = text === '' ? undefined : JSON.parse(text)
  return { status: response.status, headers: response.headers, body, details }
}

interface ToolResult {
  [name: string]: unknown
  content: { type: 'text'; text: string }[]
  isError?: true
}

interface Dependencies {
  /** Counts the call as in progress until the returned function is called. @throws HttpError 429, 503 */
  acquire(): () => void
  log: Log
}

/** Runs a tool. An error of the tool is part of the result, so that the agent reads it. */
export async function runTool(
  tool: Tool,
  args: unknown,
  call: Call,
  { acquire, log }: Dependencies,
): Promise<ToolResult> {
  let release: (() => void) | undefined
  try {
    release = acquire()
    requireArguments(tool, args)
    return resultOf(await tool.run(args as never, call))
  } catch (error) {
    const known = error instanceof HttpError ? toToolError(error) : error
    if (!(known instanceof ToolError) && !call.signal.aborted)
      log.error({ tool: tool.name, error: String(error) }, 'tool failed')
    const { status, message, details, advice } = known instanceof ToolError ? known : unexpected()
    return { ...resultOf({ error: message, status, ...details, do: advice }), isError: true }
  } finally {
    release?.()
  }
}

const toToolError = (error: HttpError): ToolError =>
  errorOf({
    ...{ status: error.status, headers: new Headers(error.headers) },
    ...{ body: errorBody(error), details: error.details },
  })

function unexpected(): ToolError {
  const { status, message } = internalError()
  return new ToolError(status, message, 'Send the same call again, with the same key if it has a key')
}

const resultOf = (answer: unknown): ToolResult => ({
  content: [{ type: 'text', text: JSON.stringify(answer) }],
})

/** @throws ToolError 400, which names the nearest argument if a name is unknown */
function requireArguments({ name, inputSchema }: Tool, args: unknown): void {
  if (Value.Check(inputSchema, args)) return
  const { message } = validationError(Value.Errors(inputSchema, args))
  const names = Object.keys(inputSchema.properties).join(', ')
  throw new ToolError(400, message, `Call ${name} again; its arguments are ${names}`)
}
