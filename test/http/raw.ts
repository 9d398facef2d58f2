import { expect } from 'bun:test'
import { connect } from 'node:net'

// Shorter than who is idle is kept.
const patienceMs = 25_000

export interface RawAnswer {
  /** 0 when the connection was closed without an answer. */
  status: number
  head: string
  body: string
}

/** Writes bytes to the service as they are and reads until it closes the connection, or a failure when it does not. */
export function sendRaw(url: string, ...chunks: string[]): Promise<RawAnswer> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    const received: Buffer[] = []
    const timer = setTimeout(() => socket.destroy(new Error(`open after ${patienceMs} ms`)), patienceMs)
    socket.on('data', (data: Buffer) => received.push(data))
    // Who is told enough may be cut off while still sending.
    socket.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ECONNRESET' || error.code === 'EPIPE' ? undefined : reject(error),
    )
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(parsed(Buffer.concat(received).toString()))
    })
    for (const chunk of chunks) socket.write(chunk)
  })
}

function parsed(text: string): RawAnswer {
  const [head = '', ...rest] = text.split('\r\n\r\n')
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0), head, body: rest.join('\r\n\r\n') }
}

/** The head of a request after which the service is to close the connection. */
export function requestHead(
  method: string,
  path: string,
  headers: Record<string, string | number> = {},
): string {
  const lines = Object.entries({ Host: 'docket.test', Connection: 'close', ...headers })
  return `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
}

export const chunk = (bytes: string): string => `${Buffer.byteLength(bytes).toString(16)}\r\n${bytes}\r\n`

export function expectRawError({ status, body }: RawAnswer, wanted: number) {
  expect([status, body.slice(0, 300)]).toEqual([
    wanted,
    expect.stringContaining(`{"statusCode":${wanted},"message":"`),
  ])
}
