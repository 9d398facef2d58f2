import type { ReadRequest } from '../../src/commands/query.ts'
import type { Services } from '../../src/services.ts'
import { type Chunks, errorChunk, streamHeaders } from '../../src/responses/server-sent-events.ts'

/**
 * Answers with a stream. A chunk is made only when the previous one was sent: a slow reader costs no memory, and the server's
 * `idleTimeout` ends a reader that takes nothing.
 * @throws HttpError 429 or 503
 */
export function openStream({ subscriptions }: Pick<Services, 'subscriptions'>) {
  return (
    { request, caller }: ReadRequest,
    chunksOf: (signal: AbortSignal) => Chunks,
    more = {},
  ): Response => {
    const told = { ...streamHeaders(), ...more }
    if (request.method === 'HEAD') return new Response(null, { headers: told })
    const leave = subscriptions.acquire(caller.userId)
    const over = new AbortController()
    // A reader that leaves either cancels the stream or aborts the request, not always both.
    const { signal } = request
    const end = () => over.abort()
    over.signal.addEventListener('abort', leave, { once: true })
    signal.addEventListener('abort', end, { once: true })
    const chunks = chunksOf(over.signal)
    const body = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          const { value, done } = await chunks.next().catch(errorChunk)
          if (value) controller.enqueue(value)
          if (!done) return
          signal.removeEventListener('abort', end)
          end()
          controller.close()
        },
        cancel: end,
      },
      { highWaterMark: 0 },
    )
    return new Response(body, { headers: told })
  }
}
