import { createMcpHandler, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server'
import type { TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import packageJson from '../../package.json' with { type: 'json' }
import type { Log } from '../../src/logger.ts'
import { HttpError, internalError, unknownName } from '../../src/responses/errors.ts'
import { validationError } from '../../src/schema/validation.ts'
import { errorOf } from './errors.ts'
import { Call, type Handle, type Tool, ToolError } from './tool.ts'
import { withIdsInArguments } from './names.ts'
import { changes, find, get, history, projects } from './reads.ts'
import { apply, claimNext, extendOrRelease, undo } from './writes.ts'

const identity = { name: 'docket', version: packageJson.version }
const instructions =
  'Docket tracks projects and tasks. `project` takes an id or a name. If an answer has `next`, repeat the call with it to get the rest. Writes take a `key`: if an answer is lost, send the same call with the same key, and the write is done once.'

/** How long clients may cache the list of tools, which changes only with a release. */
const listTtlMs = 3_600_000

const options = {
  capabilities: { tools: {} },
  instructions,
  cacheHints: { 'tools/list': { ttlMs: listTtlMs }, 'server/discover': { ttlMs: listTtlMs } },
  jsonSchemaValidator: {
    getValidator: () => {
      throw new Error('The server sends no requests to clients, so it validates no responses')
    },
  },
}

/** The tools for each scope, in the order of `tools/list`. */
const tools = [projects, find, get, apply, undo, changes, claimNext, extendOrRelease, history]
const toolsFor = { read: tools.filter(({ scope }) => scope === 'read'), write: tools }

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

const definitionOf = ({ name, description, scope, hints, inputSchema }: Tool) => ({
  ...{ name, description },
  annotations: { readOnlyHint: scope === 'read', ...hints },
  inputSchema: { ...plain(inputSchema), type: 'object' as const },
})
const definitions = { read: toolsFor.read.map(definitionOf), write: toolsFor.write.map(definitionOf) }

interface Message {
  request: Request
  /** The parsed body of the request. */
  body: unknown
  userId: string
  /** The scope of the caller's token. */
  scope: Tool['scope']
  /** Sends a request of a tool to the service. */
  handle: Handle
  /** Counts the call of a tool as in progress until the returned function is called. @throws HttpError 429, 503 */
  acquire(): () => void
  log: Log
}

/** Answers one message of a client. No message depends on an earlier message. */
export function serve(message: Message): Promise<Response> {
  const { request, body, scope } = message
  const open = () => {
    const server = new Server(identity, options)
    server.setRequestHandler('tools/list', () => ({ tools: definitions[scope] }))
    server.setRequestHandler('tools/call', ({ params }, { mcpReq }) =>
      runTool(findTool(params.name, scope), params.arguments ?? {}, mcpReq.signal, message),
    )
    return server
  }
  return createMcpHandler(open, { legacy: 'stateless', maxSubscriptions: 0 }).fetch(request, {
    parsedBody: body,
  })
}

/** @throws ProtocolError for an unknown name, with the names of the tools */
function findTool(name: string, scope: Tool['scope']): Tool {
  const byName = (one: Tool) => one.name === name
  const found = toolsFor[scope].find(byName)
  if (found) return found
  const names = toolsFor[scope].map((one) => one.name)
  const reason = toolsFor.write.some(byName)
    ? `The tool ${name} needs an API token with the scope write`
    : `${unknownName(name.slice(0, 100))}; the tools are ${names.join(', ')}`
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, reason)
}

/** Runs a tool. An error of the tool is part of the result, so that the agent reads it. */
async function runTool(
  tool: Tool,
  args: object,
  signal: AbortSignal,
  { request, userId, handle, acquire, log }: Message,
) {
  let release: (() => void) | undefined
  try {
    release = acquire()
    requireArguments(tool, args)
    const open = () => new Call(userId, handle, request.headers, signal)
    // The names are read in a call of their own, so that their lists are freed while the tool waits.
    const withIds = await withIdsInArguments(open(), args)
    return resultOf(await tool.run(withIds as never, open()))
  } catch (error) {
    const isKnown = error instanceof ToolError || error instanceof HttpError
    if (!isKnown && !signal.aborted) log.error({ tool: tool.name, error: String(error) }, 'tool failed')
    const known = isKnown ? error : internalError()
    const { status, message, details, advice } = known instanceof HttpError ? errorOf(known, args) : known
    return { ...resultOf({ error: message, status, ...details, do: advice }), isError: true }
  } finally {
    release?.()
  }
}

const resultOf = (answer: object) => ({
  content: [{ type: 'text' as const, text: JSON.stringify(answer) }],
})

/** @throws ToolError 400, which names the nearest argument if a name is unknown */
function requireArguments({ name, inputSchema }: Tool, args: object): void {
  if (Value.Check(inputSchema, args)) return
  const { message } = validationError(Value.Errors(inputSchema, args))
  const names = Object.keys(inputSchema.properties).join(', ')
  throw new ToolError(400, message, `Call ${name} again; its arguments are ${names}`)
}
