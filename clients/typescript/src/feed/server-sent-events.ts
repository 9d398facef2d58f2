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
