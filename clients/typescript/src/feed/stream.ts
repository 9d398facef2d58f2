import { untilAborted } from '../retries.ts'
import type { Transport } from '../transport.ts'
import { type Message, readMessages } from './server-sent-events.ts'

/** The service sends the first bytes at once. If no bytes arrive within this time, a proxy buffers the stream. */
const openTimeoutMs = 5_000
/** Three heartbeats of the service. */
const idleTimeoutMs = 45_000

/** The connection is open, but no bytes arrive. */
export class SilentStream extends Error {}

interface StreamRequest {
  path: string
  /** The last known event, for a stream that can be resumed. */
  after?: number
  signal?: AbortSignal | undefined
}

/** Yields the messages of one connection. @throws if the stream cannot be opened, breaks or is silent */
export async function* streamMessages(
  transport: Transport,
  { path, after, signal }: StreamRequest,
): AsyncGenerator<Message, void, void> {
  const connection = new AbortController()
  const signals = signal ? [signal, connection.signal] : [connection.signal]
  const either = AbortSignal.any(signals)
  const within = async <T>(ms: number, work: Promise<T>): Promise<T> => {
    // Prevents an unhandled rejection if the signal has already aborted.
    work.catch(() => {})
    const timer = setTimeout(() => connection.abort(new SilentStream()), ms)
    return untilAborted(() => work, either).finally(() => clearTimeout(timer))
  }
  try {
    const headers: Record<string, string> = { accept: 'text/event-stream' }
    if (after !== undefined) headers['last-event-id'] = String(after)
    const response = await within(openTimeoutMs, transport.stream(path, { headers, signal: either }))
    if (!response.headers.get('content-type')?.startsWith('text/event-stream') || !response.body)
      throw new Error('The response is not an event stream')
    let timeoutMs = openTimeoutMs
    const messages = readMessages(response.body, (read) => within(timeoutMs, read))
    for await (const message of messages) {
      timeoutMs = idleTimeoutMs
      yield message
    }
  } finally {
    connection.abort()
  }
}
