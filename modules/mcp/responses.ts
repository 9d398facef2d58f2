import { baseHeaders, requestId } from '../../src/responses/reply.ts'

/** Returns an error of JSON-RPC 2.0. */
function rpcError(code: number, message: string): Response {
  return withHeaders(Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status: 400 }))
}

export const parseError = (message: string) => rpcError(-32_700, message)
/** Only an old revision has batches of messages. All messages of a batch would run at once, without the usual limits. */
export const invalidRequest = () =>
  rpcError(-32_600, 'The body must be one message, not a batch: send each message in its own request')

export function withHeaders(response: Response): Response {
  const own = { ...baseHeaders, 'cache-control': 'no-store', 'x-request-id': requestId() }
  for (const [name, value] of Object.entries(own)) response.headers.set(name, value)
  return response
}
