import {
  createMcpHandler,
  type McpRequestContext,
  ProtocolError,
  ProtocolErrorCode,
  Server,
} from '@modelcontextprotocol/server'
import packageJson from '../../package.json' with { type: 'json' }
import type { Log } from '../../src/log.ts'
import { unknownName } from '../../src/responses/errors.ts'
import { type Handle, openCall } from './call.ts'
import { runTool } from './run-tool.ts'
import type { Tool } from './tool.ts'
import { tools } from './tools.ts'

const identity = { name: 'docket', version: packageJson.version }
const instructions =
  'Docket tracks projects and tasks. `project` takes an id or a name. An answer with `next` has more: call again with it. Writes take a `key`: after a lost answer, send the same call with the same key again, and it is not done twice.'

const toolsOf = (scope: Tool['scope']) => tools.filter((tool) => scope === 'write' || tool.scope === 'read')

/** Agents need no examples, and no description that repeats the values of an enum. */
function withoutRepetition(this: { enum?: unknown }, name: string, value: unknown): unknown {
  return name === 'examples' || (name === 'description' && this.enum) ? undefined : value
}
// JSON has none of the symbols and functions of TypeBox.
const definitionsOf = (some: Tool[]) =>
  JSON.parse(
    JSON.stringify(
      some.map(({ name, description, inputSchema, annotations }) => ({
        name,
        description,
        inputSchema,
        annotations,
      })),
      withoutRepetition,
    ),
  )

/** Nothing is requested from the client, so no answer of the client is validated. */
const jsonSchemaValidator = {
  getValidator: () => {
    throw new Error('The client is never asked')
  },
}

/** Opens the protocol for callers whose token has the scope. A request never depends on an earlier request. */
export function openServer(scope: Tool['scope'], handle: Handle, log: Log) {
  const definitions = definitionsOf(toolsOf(scope))
  const open = ({ requestInfo }: McpRequestContext) => {
    const server = new Server(identity, { capabilities: { tools: {} }, instructions, jsonSchemaValidator })
    server.setRequestHandler('tools/list', () => ({ tools: definitions }))
    server.setRequestHandler('tools/call', ({ params }, { mcpReq }) => {
      const call = openCall(handle, requestInfo!, mcpReq.signal)
      return runTool(findTool(params.name, scope), params.arguments ?? {}, call, log)
    })
    return server
  }
  return createMcpHandler(open, { legacy: 'stateless', maxSubscriptions: 0 })
}

/** @throws ProtocolError for an unknown name, which the error compares with the names of the tools */
function findTool(name: string, scope: Tool['scope']): Tool {
  const found = tools.find((tool) => tool.name === name)
  if (found && toolsOf(scope).includes(found)) return found
  const names = toolsOf(scope).map((tool) => tool.name)
  const reason = found
    ? `The tool ${name} needs an API token with the scope write`
    : `${unknownName(name.slice(0, 100))}; the tools are ${names.join(', ')}`
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, reason)
}
