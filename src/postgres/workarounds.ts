import type { Socket } from 'node:net'
import { unreached } from './errors.ts'

// What postgres.js 3.4.9 gets wrong when a connection breaks, mended from outside. Each has its test, and that it is
// still wrong, test/core/still-needed.test.ts shows.

/**
 * It keeps what it had not written yet when a connection broke, and then sends a greeting shorter than 1 KiB only with
 * it, which is never (porsager/postgres#1133): the connection hangs until its time-out, again and again. A longer
 * greeting goes out at once. Measured with connections terminated 60 times under load: 35 time-outs without this, none
 * with it.
 */
const [paddingName, paddingValue] = ['docket.padding', 'x'.repeat(1_024)] as const
export const padding = { [paddingName]: paddingValue }

/** The version of the protocol and the first setting, as every greeting begins after its length. */
const greeting = Buffer.from('\0\x03\0\0user\0', 'latin1')

/**
 * What was kept of the broken connection goes out before the greeting then, and Postgres ends the new one for it. A
 * pooler refuses a greeting with settings that it does not know: there the padding has done its work by now.
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
 * A socket tells of an error first and of its end a moment later: a query that postgres.js sends in between is never
 * answered nor refused, and its connection is never used again (porsager/postgres#1215). And one that ends without an
 * error before it was greeted is opened again and again without a pause (porsager/postgres#1193). So an error is the
 * end at once, and an end is an error.
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
 * When a result is interrupted in its middle (a cut connection, a statement that ran out of time), it goes on counting
 * rows from there (porsager/postgres#1181): the next result on that connection begins with as many holes, so that a
 * row that exists reads as none. This takes the holes out.
 */
export function whole(rows: unknown[]): unknown[] {
  if (rows.length === 0 || 0 in rows) return rows
  rows.splice(
    0,
    rows.findIndex((_, i) => i in rows),
  )
  return rows
}
