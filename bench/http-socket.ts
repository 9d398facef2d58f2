export interface Reply {
  status: number
  retryAfter: boolean
}

export interface HttpSocket {
  /** Sends one raw request; the answer's body is read and dropped. Rejects when the connection ends. */
  send(raw: string): Promise<Reply>
  close(): void
}

interface Waiting {
  resolve(reply: Reply): void
  reject(error: Error): void
}

const endOfHead = '\r\n\r\n'

/** One keep-alive connection, one request at a time, as little work as a generator can do for an answer. */
export async function openSocket(url: string): Promise<HttpSocket> {
  const { hostname, port } = new URL(url)
  let waiting: Waiting | undefined
  let received = ''
  const fail = (error: Error) => {
    waiting?.reject(error)
    waiting = undefined
  }
  const socket = await Bun.connect({
    hostname,
    port: Number(port || 80),
    socket: {
      data(_, chunk) {
        // latin1: a character is a byte, so that content-length counts characters
        received += chunk.toString('latin1')
        const reply = readReply(received)
        if (!reply) return
        received = ''
        const answered = waiting
        waiting = undefined
        answered?.resolve(reply)
      },
      close: () => fail(new Error('The connection was closed')),
      error: (_, error) => fail(error),
    },
  })
  return {
    send: (raw) =>
      new Promise((resolve, reject) => {
        waiting = { resolve, reject }
        if (socket.write(raw) !== raw.length) fail(new Error('The connection takes no more'))
      }),
    close: () => void socket.end(),
  }
}

/** The answer in `text`, or undefined while a part of it is missing. */
function readReply(text: string): Reply | undefined {
  const headEnd = text.indexOf(endOfHead)
  if (headEnd < 0) return undefined
  const status = Number(text.slice(9, 12))
  const head = text.slice(0, headEnd).toLowerCase()
  const [, length] = /\r\ncontent-length: *(\d+)/.exec(head) ?? []
  const bodyBytes = status === 304 || status === 204 ? 0 : Number(length ?? 0)
  if (text.length < headEnd + endOfHead.length + bodyBytes) return undefined
  return { status, retryAfter: head.includes('\r\nretry-after:') }
}
