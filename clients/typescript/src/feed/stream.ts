import { untilAborted } from '../retries.ts'
import type { StreamOptions, Transport } from '../transport.ts'

/** The service sends the first bytes at once. If no bytes arrive within this time, a proxy buffers the stream. */
const openTimeoutMs = 5_000
/** Three heartbeats of the service. */
const idleTimeoutMs = 45_000

/** The connection is open, but no bytes arrive. */
export class SilentStream extends Error {}

interface StreamRequest {
  path: string
  query?: StreamOptions['query']
  /** The last known event, for a stream that can be resumed. */
  after?: number
  signal?: AbortSignal | undefined
}

/** Yields the messages of one connection. @throws if the stream cannot be opened, breaks or is silent */
export async function* streamMessages(
  transport: Transport,
  { path, query, after, signal }: StreamRequest,
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
    const response = await within(openTimeoutMs, transport.stream(path, { query, headers, signal: either }))
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

/** `data` is empty if the message has only an id or a retry time. */
export interface Message {
  event: string
  data: string
  id?: string
}

/**
 * Yields the messages of an event stream. Also yields messages without data, because they prove that the stream works.
 * https://html.spec.whatwg.org/multipage/server-sent-events.html
 * @param waitFor waits for the next bytes, and may reject after a timeout
 */
export async function* readMessages(
  body: ReadableStream<Uint8Array>,
  waitFor: <T>(read: Promise<T>) => Promise<T> = (read) => read,
): AsyncGenerator<Message, void, void> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { value, done } = await waitFor(reader.read())
      if (done) return
      const blocks = (rest + decoder.decode(value, { stream: true })).split(/\r\n\r\n|\n\n/)
      rest = blocks.pop()!
      for (const block of blocks) yield parse(block)
    }
  } finally {
    // Closes the connection, also if the consumer stops early.
    await reader.cancel().catch(() => {})
  }
}

function parse(block: string): Message {
  const message: Message = { event: 'message', data: '' }
  const data: string[] = []
  for (const line of block.split(/\r\n|\n|\r/)) {
    const [, name, value] = /^([^:]+):? ?(.*)$/s.exec(line) ?? []
    if (name === 'data') data.push(value!)
    if (name === 'event' || name === 'id') message[name] = value!
  }
  return { ...message, data: data.join('\n') }
}
