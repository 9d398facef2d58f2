import type { TestService } from '../kit.ts'

/** The headers of a message of a revision before 2026-07-28. */
export const rawHeaders = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
}

export const revision = '2026-07-28'
const meta = {
  'io.modelcontextprotocol/protocolVersion': revision,
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** Returns a message of the revision 2026-07-28 with the headers that the revision requires. */
export function message(method: string, params: { name?: string; [key: string]: unknown } = {}) {
  const ofTool = params.name !== undefined && { 'mcp-name': params.name }
  const headers = { ...rawHeaders, 'mcp-protocol-version': revision, 'mcp-method': method, ...ofTool }
  return { headers, body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } } }
}

export interface Sent {
  path?: string
  headers?: Record<string, string>
  body: unknown
  signal?: AbortSignal
}

/** Sends a body, which may be an invalid message. */
export async function send(
  service: TestService,
  token: string | undefined,
  { path = '/mcp', body, ...sent }: Sent,
) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const length = { 'content-length': String(Buffer.byteLength(text)) }
  const response = await service.fetch(path, {
    ...{ method: 'POST', signal: sent.signal, body: text },
    headers: {
      ...{ ...rawHeaders, ...length },
      ...(token && { authorization: `Bearer ${token}` }),
      ...sent.headers,
    },
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}
