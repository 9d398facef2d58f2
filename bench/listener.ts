import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { build } from 'hdr-histogram-js'

// Receives events in a process of its own, and records the time since each event's `at`; all processes share one clock.
// Without arguments as a receiver of webhooks, else from streams: the service's URL, and a file with paths and tokens.
// For each line of input, it prints what it received since the last line.

export interface Received {
  events: number
  /** Deliveries of webhooks. */
  posts: number
  p50Ms: number
  p99Ms: number
}

const [url = '', file] = process.argv.slice(2)
const time = /"at":"([^"]+)"/g
let late = build()
let [events, posts] = [0, 0]
console.log(file ? await openStreams(JSON.parse(readFileSync(file, 'utf8'))) : openReceiver())
createInterface({ input: process.stdin }).on('line', () => {
  const [p50Ms, p99Ms] = [late.getValueAtPercentile(50), late.getValueAtPercentile(99)]
  console.log(JSON.stringify({ events, posts, p50Ms, p99Ms } satisfies Received))
  late = build()
  ;[events, posts] = [0, 0]
})

function receive(at: string): void {
  late.recordValue(Math.max(Date.now() - Date.parse(at), 0))
  events++
}

function openReceiver(): string {
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { data } = (await request.json()) as { data: { events: { at: string }[] } }
      for (const { at } of data.events) receive(at)
      posts++
      return new Response(null, { status: 204 })
    },
  })
  return server.url.href
}

type Stream = { path: string; token: string }

async function openStreams(streams: Stream[]): Promise<string> {
  const [atOnce, pauseMs] = [100, 200]
  for (let n = 0; n < streams.length; n += atOnce)
    await Promise.all(
      streams.slice(n, n + atOnce).map(async (stream) => {
        // An overloaded service rejects a stream.
        while (!(await begin(stream))) await Bun.sleep(pauseMs)
      }),
    )
  return 'listening'
}

function begin({ path, token }: Stream): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    socket.on('error', reject)
    socket.once('data', (head: Buffer) => {
      const isOpen = head.includes('HTTP/1.1 200')
      if (isOpen) socket.on('close', () => process.exit(1))
      else socket.destroy()
      resolve(isOpen)
    })
    socket.on('data', (chunk: Buffer) => {
      for (const [, at] of chunk.toString('latin1').matchAll(time)) receive(at!)
    })
    socket.write(
      `GET /api/v1${path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${token}\r\nAccept: text/event-stream\r\n\r\n`,
    )
  })
}
