import { reasons, Refusal, unavailable } from '../../src/wire/refusals.ts'

// Server-sent events, as https://html.spec.whatwg.org/multipage/server-sent-events.html has them.

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

/** A stream that is refused to go on says why, as its last event. */
export async function* sayingWhy(chunks: Chunks): Chunks {
  try {
    yield* chunks
  } catch (error) {
    const refusal = error instanceof Refusal ? error : unavailable('The stream cannot go on now')
    const { status, message } = refusal
    const data = { statusCode: status, message, error: reasons[status] }
    yield encode(`retry: ${retryMs()}\nevent: end\ndata: ${JSON.stringify(data)}\n\n`)
  }
}
