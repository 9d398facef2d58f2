import { baseHeaders, requestId } from '../../src/responses/reply.ts'

/** Responds to a body that is not JSON, in the form of JSON-RPC 2.0. */
export function parseError(message: string): Response {
  const body = { jsonrpc: '2.0', id: null, error: { code: -32_700, message } }
  return withHeaders(Response.json(body, { status: 400 }))
}

export function withHeaders(response: Response): Response {
  const own = { ...baseHeaders, 'cache-control': 'no-store', 'x-request-id': requestId() }
  for (const [name, value] of Object.entries(own)) response.headers.set(name, value)
  return response
}
