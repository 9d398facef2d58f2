import { connect } from 'node:net'
import { build } from 'hdr-histogram-js'
import { eachOf } from './probe.ts'
import type { ResourceRef } from './seed.ts'

/** Counts events, with the time from each event's `at` to its arrival; all processes share one clock. */
function openArrivals() {
  let late = build()
  return {
    receive(text: string): void {
      for (const [, at] of text.matchAll(/"at":"([^"]+)"/g))
        late.recordValue(Math.max(Date.now() - Date.parse(at!), 0))
    },
    /** Waits up to 20 s for a number of arrivals, and returns the arrivals since the last call. */
    async take(expected = 0) {
      const end = Date.now() + 20_000
      while (late.totalCount < expected && Date.now() < end) await Bun.sleep(50)
      const { totalCount: events } = late
      const [p50Ms, p99Ms] = [late.getValueAtPercentile(50), late.getValueAtPercentile(99)]
      late = build()
      return { events, p50Ms, p99Ms }
    },
  }
}

export function openReceiver() {
  const { receive, take } = openArrivals()
  const server = Bun.serve({
    ...{ port: 0, hostname: '127.0.0.1' },
    async fetch(request) {
      receive(await request.text())
      return new Response(null, { status: 204 })
    },
  })
  return { url: server.url.href, take, stop: () => server.stop(true) }
}

/** Opens an event stream of each project. */
export async function openStreams(url: string, projects: ResourceRef[]) {
  const { receive, take } = openArrivals()
  const sockets = await eachOf(projects, async (project) => {
    for (;;) {
      const socket = await openStream(url, project, receive)
      if (socket) return socket
      // An overloaded service rejects a stream.
      await Bun.sleep(200)
    }
  })
  return {
    take,
    stop() {
      if (sockets.some((socket) => socket.destroyed)) throw new Error('The service ended a stream')
      for (const socket of sockets) socket.destroy()
    },
  }
}

function openStream(url: string, { id, token }: ResourceRef, receive: (text: string) => void) {
  return new Promise<ReturnType<typeof connect> | undefined>((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    socket.on('error', reject)
    socket.once('data', (head: Buffer) => {
      if (head.includes('HTTP/1.1 200')) return resolve(socket)
      socket.destroy()
      resolve(undefined)
    })
    socket.on('data', (chunk: Buffer) => receive(chunk.toString('latin1')))
    const headers = [`Authorization: Bearer ${token}`, 'Host: bench', 'Accept: text/event-stream']
    socket.write(`${[`GET /api/v1/projects/${id}/events HTTP/1.1`, ...headers].join('\r\n')}\r\n\r\n`)
  })
}
