import { createMcpHandler, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server'
import type { TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import packageJson from '../../package.json' with { type: 'json' }
import type { Log } from '../../src/logger.ts'
import { badRequest, type ErrorDetails, HttpError, internalError } from '../../src/responses/errors.ts'
import { validationError } from '../../src/schema/validation.ts'
import { shortened } from './pages.ts'
import { Call, type Handle, type Tool } from './tool.ts'
import { withIds } from './names.ts'
import { changes, find, get, history, projects } from './reads.ts'
import { apply, claimNext, extendOrRelease, undo } from './writes.ts'

const identity = { name: 'docket', version: packageJson.version }
const instructions =
  'Docket tracks projects and tasks. `project` takes an id or a name. If an answer has `next`, repeat the call with it to get the rest. Writes take a `key`: if an answer is lost, send the same call with the same key, and the write is done once.'

const options = {
  capabilities: { tools: {} },
  instructions,
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
  const found = toolsFor[scope].find((one) => one.name === name)
  if (found) return found
  const names = toolsFor[scope].map((one) => one.name)
  const shown = name.slice(0, 100) || '""'
  const reason = `${shown} is not a tool of a token with the scope ${scope}; its tools are ${names.join(', ')}`
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
    const call = new Call(userId, handle, request.headers, signal)
    return resultOf(await tool.run((await withIds(call, args)) as never, call))
  } catch (error) {
    const isKnown = error instanceof HttpError
    if (!isKnown && !signal.aborted) log.error({ tool: tool.name, error: String(error) }, 'tool failed')
    return { ...resultOf(shownError(isKnown ? error : internalError(), args)), isError: true }
  } finally {
    release?.()
  }
}

const resultOf = (answer: object) => ({
  content: [{ type: 'text' as const, text: JSON.stringify(answer) }],
})

/** @throws HttpError 400, which names the nearest argument if a name is unknown */
function requireArguments({ name, inputSchema }: Tool, args: object): void {
  if (Value.Check(inputSchema, args)) return
  const { message } = validationError(Value.Errors(inputSchema, args))
  const names = Object.keys(inputSchema.properties).join(', ')
  throw badRequest(`${message}; the arguments of ${name} are ${names}`)
}

/** The arguments of a call that the advice after an error depends on. */
interface Sent {
  key?: string
  ifVersion?: number
}

/** Returns an error as agents see it: `do` is advice for the next step. @param sent the arguments of the tool */
export function shownError({ status, message, headers, details }: HttpError, sent: Sent = {}) {
  const { code, version, current } = details
  const withKey = sent.key === undefined ? '' : ' with the same key'
  const again = `Send the same call again${withKey}`
  if (status === 429 || status === 503) {
    const retryAfterSeconds = Number(headers['retry-after'] ?? 1)
    const isUnknown = code === 'outcome-unknown' && sent.key === undefined
    const advice = isUnknown ? readFirst : `${again} in ${retryAfterSeconds} s`
    return { error: message, status, retryAfterSeconds, do: advice }
  }
  if (status >= 500) return { error: message, status, do: again }
  // The service stores no errors under a key, so a corrected call may use the same key.
  const usual = adviceFor[status] ?? `Correct the arguments, then call again${withKey}`
  const advice = (code && adviceForCode[code]?.(details, sent)) ?? usual
  const text = current?.description
  const cut = text && { description: shortened(text, maxCurrentCharacters) }
  return { error: message, status, version, current: current && { ...current, ...cut }, do: advice }
}

/** The maximum number of characters of a description in an error that also contains a title. */
const maxCurrentCharacters = 12_000

const readFirst = 'Find out with find or history whether the call changed something, before you repeat it'

const adviceForCode: Partial<Record<string, (details: ErrorDetails, sent: Sent) => string>> = {
  'claim-ended': () =>
    'Stop this work, because another worker may have the task; claim_next returns a task to work on',
  'version-changed': ({ version = 0 }, { ifVersion = 0 }) =>
    `The project now has version ${version}. Read changes with after: ${Math.min(ifVersion, version)}, decide again, and call with ifVersion: ${version} and the same key`,
  'text-unmatched': () =>
    'Apply your change to the text in current (a text that ends with … is cut: read it with get), and call with ifMatch: current.etag in the operation and the same key; task.append adds to a description without ifMatch',
}

const adviceFor: Partial<Record<number, string>> = {
  401: 'Use a valid Docket token',
  403: 'Ask an ADMIN of the project for the role, or the owner of the account for a token with the scope',
  404: 'Find the id with projects, find, get or history',
  409: 'Read the rows with get, find or history, decide again, and send a corrected call',
  410: 'Start again from the current state: find lists the tasks',
  412: 'Read the row with get, decide again, and send the call with its current etag in ifMatch',
  413: 'Send fewer or shorter operations in each call, each with its own key',
  422: 'Use a new key, because another call used this key. To repeat the earlier call, send exactly its arguments',
}
