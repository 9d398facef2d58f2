import type { Socket } from 'node:net'
import { openTcpProxy as openPlainLine } from '../support/tcp-proxy.ts'

type Direction = 'requests' | 'responses'

export interface FaultyConnection {
  port: number
  /** Breaks the connection after `bytes` more bytes in one direction. Resolves when the connection is broken. */
  cutAfter(bytes: number, direction: Direction): Promise<void>
  /** Delays all bytes in one direction, after the first `afterBytes`, until `release` is called. */
  hold(direction: Direction, afterBytes?: number): { release(): void }
  splitInto(bytes: number): void
  close(): void
}

export async function openFaultyConnection(toPort: number): Promise<FaultyConnection> {
  const faults: Partial<Record<Direction, (chunk: Buffer, to: Socket) => void>> = {}
  const { port, cut, close } = await openPlainLine(toPort, {
    intercept(chunk, to, { server }) {
      const fault = faults[to === server ? 'requests' : 'responses']
      fault?.(chunk, to)
      return fault !== undefined
    },
  })
  return {
    ...{ port, close },
    cutAfter: (bytes, direction) =>
      new Promise((resolve) => {
        let left = bytes
        faults[direction] = (chunk, to) => {
          const part = chunk.subarray(0, left)
          left -= part.length
          if (left > 0) return void to.write(part)
          delete faults[direction]
          to.end(part, () => {
            cut()
            resolve()
          })
        }
      }),
    hold(direction, afterBytes = 0) {
      const held: [Buffer, Socket][] = []
      let left = afterBytes
      faults[direction] = (chunk, to) => {
        to.write(chunk.subarray(0, left))
        held.push([chunk.subarray(left), to])
        left -= Math.min(left, chunk.length)
      }
      return {
        release() {
          delete faults[direction]
          for (const [chunk, to] of held) to.write(chunk)
        },
      }
    },
    splitInto(bytes) {
      const split = (chunk: Buffer, to: Socket) => {
        for (let at = 0; at < chunk.length; at += bytes) to.write(chunk.subarray(at, at + bytes))
      }
      faults.requests = faults.responses = split
    },
  }
}
