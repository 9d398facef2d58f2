import Negotiator from 'negotiator'
import { reasons, HttpError, unavailable, varyByAccept } from './errors.ts'
import { requestId, baseHeaders } from './reply.ts'

/** https://html.spec.whatwg.org/multipage/server-sent-events.html */
const eventStream = 'text/event-stream'
export const streamHeaders = () => ({
  ...baseHeaders,
  'content-type': eventStream,
  vary: varyByAccept,
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
  'x-request-id': requestId(),
})

const kinds = ['application/json; charset=utf-8', `${eventStream}; charset=utf-8`]

/** True when a caller names server-sent events, and wants them no less than JSON (RFC 9110, 12.5.1). */
export function acceptsStream({ headers }: Request): boolean {
  const accept = headers.get('accept')
  if (!accept?.toLowerCase().includes(eventStream)) return false // most do not
  return new Negotiator({ headers: { accept } }).mediaType(kinds) === kinds[1]
}

/** A stream is silent for this long at most, well below the server's `idleTimeout`. */
export const heartbeatMs = 15_000

/** Clients reconnect at different times. */
const retryMs = () => 500 + Math.floor(Math.random() * 2_500)

export const encode = (text: string) => new TextEncoder().encode(text)
export const streamStart = (more = '') => encode(`retry: ${retryMs()}\n${more}\n`)
export const heartbeat = (more = '') => encode(`: nothing new\n${more}\n`)

export type Chunks = AsyncGenerator<Uint8Array<ArrayBuffer>, void, void>

/** The last chunk of a stream that cannot go on: its error. */
export function errorChunk(error: unknown) {
  const refusal = error instanceof HttpError ? error : unavailable('The stream cannot go on now')
  return { value: encode(errorEvent(refusal)), done: true }
}

function errorEvent({ status, message }: HttpError): string {
  const data = { statusCode: status, message, error: reasons[status] }
  return `retry: ${retryMs()}\nevent: end\ndata: ${JSON.stringify(data)}\n\n`
}

/** A stream that ends at once: an EventSource comes back after it, and after a status like 503 never again. */
export const endedStream = (refusal: HttpError): Response =>
  new Response(errorEvent(refusal), { headers: streamHeaders() })
