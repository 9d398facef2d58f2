import { createMcpHandler, type McpRequestContext, Server } from '@modelcontextprotocol/server'
import packageJson from '../../package.json' with { type: 'json' }
import { type Handle, openCall } from './call.ts'
import { runTool } from './run-tool.ts'
import type { Tool } from './tool.ts'
import { tools } from './tools.ts'

const identity = { name: 'docket', version: packageJson.version }
const instructions =
  'Docket tracks projects and tasks. `project` takes an id or a name. An answer with `next` has more: call again with it. Writes take a `key`: after a lost answer, send the same call with the same key again, and it is not done twice.'

/** The schemas of TypeBox have symbols and functions, which JSON leaves out. */
const definitionOf = ({ name, description, inputSchema, annotations }: Tool) =>
  JSON.parse(JSON.stringify({ name, description, inputSchema, annotations }))
const listed = {
  read: tools.filter(({ scope }) => scope === 'read').map(definitionOf),
  write: tools.map(definitionOf),
}

/** Nothing is requested from the client, so no answer of the client is validated. */
const jsonSchemaValidator = {
  getValidator: () => {
    throw new Error('The client is never asked')
  },
}

/** Opens the protocol for callers whose token has the scope. A request never depends on an earlier request. */
export function openServer(scope: 'read' | 'write', handle: Handle) {
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  const open = ({ requestInfo }: McpRequestContext) => {
    const server = new Server(identity, { capabilities: { tools: {} }, instructions, jsonSchemaValidator })
    server.setRequestHandler('tools/list', () => ({ tools: listed[scope] }))
    server.setRequestHandler('tools/call', ({ params }, { mcpReq }) => {
      const tool = byName.get(params.name)!
      return runTool(tool, params.arguments ?? {}, openCall(handle, requestInfo!, mcpReq.signal))
    })
    return server
  }
  return createMcpHandler(open, { legacy: 'stateless', maxSubscriptions: 0 })
}
