import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

type Way = 'asks' | 'answers'

/** Stands between two processes, knows nothing of frames, and meddles. */
export interface Line {
  port: number
  /** Lets so many more bytes through that way, and cuts the line. Resolves when it is cut. */
  cutAfter(bytes: number, way: Way): Promise<void>
  /** Keeps what comes that way, after so many bytes; `release` hands it on. */
  hold(way: Way, afterBytes?: number): { release(): void }
  /** Writes so many bytes at a time, each in a packet of its own. */
  crumble(bytes: number): void
  close(): void
}

export async function openLine(toPort: number): Promise<Line> {
  const sockets = new Set<Socket>()
  const meddlers: Partial<Record<Way, (chunk: Buffer, to: Socket) => void>> = {}
  const forward = (from: Socket, to: Socket, way: Way) => {
    sockets.add(from)
    from.setNoDelay(true)
    from.on('error', () => {})
    from.on('data', (chunk: Buffer) => (meddlers[way] ? meddlers[way](chunk, to) : to.write(chunk)))
    from.on('close', () => to.destroy())
  }
  const server = createServer((asker) => {
    const server = connect(toPort, '127.0.0.1')
    forward(asker, server, 'asks')
    forward(server, asker, 'answers')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cutAll = () => sockets.forEach((socket) => socket.destroy())
  return {
    port: (server.address() as AddressInfo).port,
    cutAfter: (bytes, way) =>
      new Promise((resolve) => {
        let left = bytes
        meddlers[way] = (chunk, to) => {
          const part = chunk.subarray(0, left)
          left -= part.length
          if (left > 0) return void to.write(part)
          delete meddlers[way]
          // What was let through arrives before the end does.
          to.end(part, () => {
            cutAll()
            resolve()
          })
        }
      }),
    hold(way, afterBytes = 0) {
      const held: [Buffer, Socket][] = []
      let left = afterBytes
      meddlers[way] = (chunk, to) => {
        to.write(chunk.subarray(0, left))
        held.push([chunk.subarray(left), to])
        left -= Math.min(left, chunk.length)
      }
      return {
        release() {
          delete meddlers[way]
          for (const [chunk, to] of held) to.write(chunk)
        },
      }
    },
    crumble(bytes) {
      const crumbs = (chunk: Buffer, to: Socket) => {
        for (let at = 0; at < chunk.length; at += bytes) to.write(chunk.subarray(at, at + bytes))
      }
      meddlers.asks = meddlers.answers = crumbs
    },
    close() {
      server.close()
      cutAll()
    },
  }
}
