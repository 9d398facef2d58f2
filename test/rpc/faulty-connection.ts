import type { Socket } from 'node:net'
import { openTcpProxy as openPlainLine } from '../support/tcp-proxy.ts'

type Way = 'asks' | 'answers'

/** Stands between two processes, knows nothing of frames, and meddles. */
export interface FaultyConnection {
  port: number
  /** Lets so many more bytes through that way, and cuts the line. Resolves when it is cut. */
  cutAfter(bytes: number, way: Way): Promise<void>
  /** Keeps what comes that way, after so many bytes; `release` hands it on. */
  hold(way: Way, afterBytes?: number): { release(): void }
  /** Writes so many bytes at a time, each in a packet of its own. */
  crumble(bytes: number): void
  close(): void
}

export async function openFaultyConnection(toPort: number): Promise<FaultyConnection> {
  const meddlers: Partial<Record<Way, (chunk: Buffer, to: Socket) => void>> = {}
  const { port, cut, close } = await openPlainLine(toPort, {
    intercept(chunk, to, { server }) {
      const meddler = meddlers[to === server ? 'asks' : 'answers']
      meddler?.(chunk, to)
      return meddler !== undefined
    },
  })
  return {
    ...{ port, close },
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
            cut()
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
  }
}
