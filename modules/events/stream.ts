import type { ReadRequest } from '../../src/commands/query.ts'
import { respondToHead } from '../../src/responses/reply.ts'
import type { Services } from '../../src/services.ts'
import { type Chunks, errorChunk, streamHeaders } from '../../src/responses/server-sent-events.ts'

interface OpenedStream {
  chunks: Chunks
  headers?: Record<string, string>
}

/** Builds a chunk only after the previous chunk was sent, so that a slow client costs no memory. */
export function openStreamResponse({ subscriptions }: Pick<Services, 'subscriptions'>) {
  return async (
    { request, caller }: ReadRequest,
    open: (signal: AbortSignal) => OpenedStream | Promise<OpenedStream>,
  ): Promise<Response> => {
    const isHead = request.method === 'HEAD'
    const release = isHead ? () => {} : subscriptions.acquire(caller.userId)
    const ended = new AbortController()
    // A disconnect may cancel the stream, abort the request, or both.
    const { signal } = request
    const end = () => ended.abort()
    ended.signal.addEventListener('abort', release, { once: true })
    signal.addEventListener('abort', end, { once: true })
    const opened = await Promise.resolve(ended.signal)
      .then(open)
      .catch((error: unknown) => {
        end()
        throw error
      })
    const { chunks } = opened
    const headers = { ...streamHeaders(), ...opened.headers }
    if (isHead) {
      end()
      return respondToHead(headers)
    }
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
    return new Response(body, { headers })
  }
}
