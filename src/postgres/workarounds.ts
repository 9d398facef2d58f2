import type { Socket } from 'node:net'
import { unreached } from './errors.ts'

// Faults of postgres.js 3.4.9 when a connection breaks. test/core/still-needed.test.ts shows that each still exists.

/**
 * It keeps unwritten data of a broken connection, and then delays a greeting shorter than 1 KiB forever
 * (porsager/postgres#1133): the connection hangs until its time-out, again and again. With connections terminated 60
 * times under load: 35 time-outs without this, none with it.
 */
const [paddingName, paddingValue] = ['docket.padding', 'x'.repeat(1_024)] as const
export const padding = { [paddingName]: paddingValue }

const greeting = Buffer.from('\0\x03\0\0user\0', 'latin1')

/**
 * Removes the data of the broken connection before the greeting, because Postgres would end the new connection for it.
 * Removes the padding for a pooler, which rejects unknown settings.
 */
export function greetingAlone(socket: Socket, isPooled = false): void {
  const write = socket.write
  socket.write = (chunk: unknown, done?: unknown) => {
    socket.write = write
    const first = chunk as Buffer
    const alone = first.subarray(Math.max(first.indexOf(greeting) - 4, 0))
    return socket.write(isPooled ? unpadded(alone) : alone, done as () => void)
  }
}

function unpadded(message: Buffer): Buffer {
  const [from, to] = [paddingName, paddingValue].map((text) => message.indexOf(`${text}\0`))
  const rest = [message.subarray(0, from), message.subarray(to! + paddingValue.length + 1)]
  const shorter = Buffer.concat(from! < 0 ? [message] : rest)
  shorter.writeInt32BE(shorter.length)
  return shorter
}

/**
 * Closes a socket at its error, and makes every end an error. A query that postgres.js sends between the two events never
 * ends, and its connection is never used again (porsager/postgres#1215). A connection that ends without an error before
 * the greeting is opened again and again without a pause (porsager/postgres#1193).
 */
export function endingAtOnce(socket: Socket): void {
  const emit = socket.emit.bind(socket)
  let over = false
  socket.emit = (event: string | symbol, ...args: unknown[]): boolean => {
    if (event !== 'error' && event !== 'close') return emit(event, ...args)
    if (over) return true
    over = true
    const cause = event === 'error' ? args[0] : undefined
    const error = cause instanceof Error ? cause : unreached('CONNECTION_CLOSED', 'The connection was closed')
    emit('error', error)
    return emit('close', true)
  }
}

/**
 * After a result that was interrupted in its middle, the next result on the connection begins with as many holes
 * (porsager/postgres#1181). This removes the holes.
 */
export function whole(rows: unknown[]): unknown[] {
  const holes = 0 in rows ? 0 : rows.findIndex((_, i) => i in rows)
  if (holes > 0) rows.splice(0, holes)
  return rows
}
