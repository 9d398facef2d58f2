import Negotiator from 'negotiator'
import { reasons, HttpError, unavailable, varyByAccept } from './errors.ts'
import { requestId, untyped } from './reply.ts'

/** https://html.spec.whatwg.org/multipage/server-sent-events.html */
const type = 'text/event-stream'
export const streamHeaders = () => ({
  ...untyped,
  'content-type': type,
  vary: varyByAccept,
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
  'x-request-id': requestId(),
})

const kinds = ['application/json; charset=utf-8', `${type}; charset=utf-8`]

/** True when a caller names server-sent events, and wants them no less than JSON (RFC 9110, 12.5.1). */
export function asksForStream({ headers }: Request): boolean {
  const accept = headers.get('accept')
  if (!accept?.toLowerCase().includes(type)) return false // most do not
  return new Negotiator({ headers: { accept } }).mediaType(kinds) === kinds[1]
}

/** A stream is silent for this long at most, well below the server's `idleTimeout`. */
export const silentMs = 15_000

/** Clients reconnect at different times. */
const retryMs = () => 500 + Math.floor(Math.random() * 2_500)

export const encode = (text: string) => new TextEncoder().encode(text)
export const beginning = (more = '') => encode(`retry: ${retryMs()}\n${more}\n`)
export const nothingNew = (more = '') => encode(`: nothing new\n${more}\n`)

export type Chunks = AsyncGenerator<Uint8Array<ArrayBuffer>, void, void>

/** The last chunk of a stream that cannot go on: its error. */
export function sayingWhy(error: unknown) {
  const refusal = error instanceof HttpError ? error : unavailable('The stream cannot go on now')
  return { value: encode(end(refusal)), done: true }
}

function end({ status, message }: HttpError): string {
  const data = { statusCode: status, message, error: reasons[status] }
  return `retry: ${retryMs()}\nevent: end\ndata: ${JSON.stringify(data)}\n\n`
}

/** A stream that ends at once: an EventSource comes back after it, and after a status like 503 never again. */
export const endedStream = (refusal: HttpError): Response =>
  new Response(end(refusal), { headers: streamHeaders() })
