import type { Reading } from '../../src/commands/query.ts'
import { holderOf } from '../../src/identity/caller.ts'
import type { Services } from '../../src/services.ts'
import { requestId } from '../../src/wire/request-id.ts'
import { openFollow, type Start } from './follow.ts'

const headers = {
  'content-type': 'text/event-stream',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
}

/** True when the answer is to be a stream of server-sent events. */
export const asksForStream = ({ headers }: Request): boolean =>
  headers.get('accept')?.includes('text/event-stream') ?? false

/** Answers with what happens from some place on, for as long as it is read. @throws Refusal 429 or 503 */
export function openStream(
  services: Pick<Services, 'authenticate' | 'database' | 'findRole' | 'followers' | 'oldestKept'>,
) {
  const follow = openFollow(services)
  return (reading: Reading, start: Start): Response => {
    const leave = services.followers.take(holderOf(reading.caller))
    const over = new AbortController()
    // That nobody reads any more is told by one or the other, not always by both.
    const { signal } = reading.request
    const end = () => over.abort()
    over.signal.addEventListener('abort', leave, { once: true })
    signal.addEventListener('abort', end, { once: true })
    const chunks = follow(reading, start, over.signal)
    const body = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          const { value, done } = await chunks.next()
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
    const told = { ...headers, 'x-request-id': requestId(), 'docket-version': String(start.seen.version) }
    return new Response(body, { headers: told })
  }
}
