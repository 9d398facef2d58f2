import { connect, type Socket } from 'node:net'

/**
 * A client on raw sockets that never retries, and records each request without a response.
 * @param keepsAlive reuses the connection while it is open
 */
export function requestForever(url: string, request: () => string, keepsAlive: boolean) {
  const { hostname, port } = new URL(url)
  let isRunning = true
  let socket: Socket | undefined
  const client = { answered: 0, failures: [] as string[], stop: () => ((isRunning = false), done) }
  const done = (async () => {
    while (isRunning) {
      socket ??= connect(Number(port), hostname)
      const { text, error } = await send(socket, request())
      if (/^HTTP\/1\.1 20/.test(text)) client.answered++
      else client.failures.push(error ?? text.split('\r\n')[0] ?? '')
      if (keepsAlive && !error && !/^connection: close/im.test(text)) continue
      socket.destroy()
      socket = undefined
    }
    socket?.destroy()
  })()
  return client
}

function send(socket: Socket, bytes: string): Promise<{ text: string; error?: string }> {
  return new Promise((resolve) => {
    let text = ''
    const finish = (error?: string) => {
      for (const event of ['data', 'error', 'close']) socket.removeAllListeners(event)
      socket.on('error', () => {})
      resolve({ text, error })
    }
    socket.on('data', (data: Buffer) => {
      text += data.toString('latin1')
      const end = text.indexOf('\r\n\r\n')
      const length = Number(/^content-length: (\d+)/im.exec(text)?.[1])
      if (end >= 0 && text.length >= end + 4 + length) finish()
    })
    socket.on('error', (error: NodeJS.ErrnoException) => finish(error.code ?? error.message))
    socket.on('close', () => finish('closed without a response'))
    socket.write(bytes)
  })
}

export function requestOf(method: string, path: string, token: string, body?: object): string {
  const text = body ? JSON.stringify(body) : ''
  const type = body ? `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n` : ''
  return `${method} /api/v1${path} HTTP/1.1\r\nHost: docket.test\r\nAuthorization: Bearer ${token}\r\n${type}\r\n${text}`
}
