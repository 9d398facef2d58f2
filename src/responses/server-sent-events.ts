import Negotiator from 'negotiator'
import { errorBody, HttpError, privateHeaders, unavailable } from './errors.ts'
import { requestId, baseHeaders } from './reply.ts'

/** https://html.spec.whatwg.org/multipage/server-sent-events.html */
const eventStream = 'text/event-stream'
export const streamHeaders = () => ({
  ...baseHeaders,
  'content-type': eventStream,
  vary: `${privateHeaders.vary}, Accept`,
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
  'x-request-id': requestId(),
})

/** True if the client accepts server-sent events explicitly, and does not prefer JSON (RFC 9110, 12.5.1). */
export function acceptsStream({ headers }: Request): boolean {
  const accept = headers.get('accept')
  if (!accept?.toLowerCase().includes(eventStream)) return false
  const kinds = ['application/json; charset=utf-8', `${eventStream}; charset=utf-8`]
  return new Negotiator({ headers: { accept } }).mediaType(kinds) === kinds[1]
}

/** A stream sends an event or a heartbeat at least once in this time, well below the server's `idleTimeout`. */
export const heartbeatMs = 15_000

/** Random, so that clients do not all reconnect at the same time. */
const retryMs = () => 500 + Math.floor(Math.random() * 2_500)

export const encode = (text: string) => new TextEncoder().encode(text)
export const streamStart = (more = '') => encode(`retry: ${retryMs()}\n${more}\n`)
export const heartbeat = (more = '') => encode(`: nothing new\n${more}\n`)

export type Chunks = AsyncGenerator<Uint8Array<ArrayBuffer>, void, void>

/** Ends with a message that contains the error, if there is one. */
export async function* withErrorMessage(chunks: Chunks): Chunks {
  try {
    yield* chunks
  } catch (error) {
    const isKnown = error instanceof HttpError
    const reason = isKnown ? error : unavailable('The stream was interrupted; reconnect to continue')
    yield encode(errorEvent(reason))
  }
}

const errorEvent = (error: HttpError): string =>
  `retry: ${retryMs()}\nevent: end\ndata: ${JSON.stringify(errorBody(error))}\n\n`

/** Returns a stream with only an error. An EventSource reconnects after such a stream, but never after a status 503. */
export const endedStream = (reason: HttpError): Response =>
  new Response(errorEvent(reason), { headers: streamHeaders() })
