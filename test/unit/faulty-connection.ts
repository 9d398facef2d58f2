import type { Socket } from 'node:net'
import { openTcpProxy as openPlainLine } from '../support/tcp-proxy.ts'

type Direction = 'requests' | 'responses'

export type FaultyConnection = Awaited<ReturnType<typeof openFaultyConnection>>

export async function openFaultyConnection(toPort: number) {
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
    /** Breaks the connection after `bytes` more bytes in one direction. Resolves when the connection is broken. */
    cutAfter: (bytes: number, direction: Direction) =>
      new Promise<void>((resolve) => {
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
    /** Delays all bytes in one direction, after the first `afterBytes`, until `release` is called. */
    hold(direction: Direction, afterBytes = 0) {
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
    splitInto(bytes: number) {
      const split = (chunk: Buffer, to: Socket) => {
        for (let at = 0; at < chunk.length; at += bytes) to.write(chunk.subarray(at, at + bytes))
      }
      faults.requests = faults.responses = split
    },
  }
}
