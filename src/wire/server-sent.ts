import Negotiator from 'negotiator'
import { reasons, Refusal, unavailable, varyByAccept } from './refusals.ts'
import { requestId } from './answers.ts'

// Server-sent events, as https://html.spec.whatwg.org/multipage/server-sent-events.html has them.

const type = 'text/event-stream'
const headers = {
  'content-type': type,
  'x-content-type-options': 'nosniff',
  vary: varyByAccept,
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
}
export const streamHeaders = () => ({ ...headers, 'x-request-id': requestId() })

const kinds = ['application/json; charset=utf-8', `${type}; charset=utf-8`]

/** True when a caller names server-sent events, and wants them no less than JSON (RFC 9110, 12.5.1). */
export function asksForStream({ headers }: Request): boolean {
  const accept = headers.get('accept')
  if (!accept?.toLowerCase().includes(type)) return false // most do not
  return new Negotiator({ headers: { accept } }).mediaType(kinds) === kinds[1]
}

/** How long a stream may be silent: well below the server's `idleTimeout`, which counts silence as idleness. */
export const silentMs = 15_000

/** When who was cut comes back: not all at once. */
const retryMs = () => 500 + Math.floor(Math.random() * 2_500)

const utf8 = new TextEncoder()
export const encode = (text: string) => utf8.encode(text)

/** What a stream begins with. */
export const beginning = (more = '') => encode(`retry: ${retryMs()}\n${more}\n`)

/** What is sent where there is nothing to say. */
export const nothingNew = (more = '') => encode(`: nothing new\n${more}\n`)

export type Chunks = AsyncGenerator<Uint8Array<ArrayBuffer>, void, void>

/** The last chunk of a stream that is refused to go on: it says why. */
export const sayingWhy = (error: unknown) => ({
  value: encode(end(error instanceof Refusal ? error : unavailable('The stream cannot go on now'))),
  done: true,
})

function end({ status, message }: Refusal): string {
  const data = { statusCode: status, message, error: reasons[status] }
  return `retry: ${retryMs()}\nevent: end\ndata: ${JSON.stringify(data)}\n\n`
}

/** A stream that ends at once: an EventSource comes back after it, and after a status like 503 never again. */
export const endedStream = (refusal: Refusal): Response =>
  new Response(end(refusal), { headers: streamHeaders() })
