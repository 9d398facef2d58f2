import { connect } from 'node:net'

// Shorter than the idle timeout of the service.
const timeoutMs = 60_000

export interface RawAnswer {
  /** 0 if the connection was closed without a response. */
  status: number
  head: string
  body: string
}

/** Writes chunks, and reads until the service closes the connection. Fails after a minute. */
export function sendRaw(url: string, ...chunks: string[]): Promise<RawAnswer> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    const received: Buffer[] = []
    const timer = setTimeout(() => socket.destroy(new Error(`open after ${timeoutMs} ms`)), timeoutMs)
    socket.on('data', (data: Buffer) => received.push(data))
    // The service may close the connection while the client still sends.
    socket.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ECONNRESET' || error.code === 'EPIPE' ? undefined : reject(error),
    )
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(parse(Buffer.concat(received).toString()))
    })
    for (const chunk of chunks) socket.write(chunk)
  })
}

function parse(text: string): RawAnswer {
  const [head = '', ...rest] = text.split('\r\n\r\n')
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0), head, body: rest.join('\r\n\r\n') }
}

export function requestHead(
  method: string,
  path: string,
  headers: Record<string, string | number> = {},
): string {
  const lines = Object.entries({ Host: 'docket.test', Connection: 'close', ...headers })
  return `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
}

export const chunk = (bytes: string): string => `${Buffer.byteLength(bytes).toString(16)}\r\n${bytes}\r\n`

export function expectRawError({ status, body }: RawAnswer, expected: number) {
  expect([status, body.slice(0, 300)]).toEqual([
    expected,
    expect.stringContaining(`{"statusCode":${expected},"message":"`),
  ])
}
