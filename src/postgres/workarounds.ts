import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Sql, TransactionSql } from 'postgres'
import { connectionError } from './errors.ts'

// Workarounds for defects of postgres.js 3.4.9. test/unit/workarounds.test.ts tests the workarounds, except
// the defect of `withoutLateEnd`, which would end the process of the test.

/** postgres.js never sends a startup message shorter than 1 KiB after a broken connection (porsager/postgres#1133). */
const [paddingName, paddingValue] = ['docket.padding', 'x'.repeat(1_024)] as const
export const padding = { [paddingName]: paddingValue }

const startupMessage = Buffer.from('\0\x03\0\0user\0', 'latin1')

/** Removes the unsent data of the broken connection, and for a pooler the padding: poolers reject unknown settings. */
export function startupMessageFirst(socket: Socket, isPooled = false): void {
  const write = socket.write
  socket.write = (chunk: unknown, done?: unknown) => {
    socket.write = write
    const first = chunk as Buffer
    const alone = first.subarray(Math.max(first.indexOf(startupMessage) - 4, 0))
    return socket.write(isPooled ? withoutPadding(alone) : alone, done as () => void)
  }
}

function withoutPadding(message: Buffer): Buffer {
  const [from, to] = [paddingName, paddingValue].map((text) => message.indexOf(`${text}\0`))
  const rest = [message.subarray(0, from), message.subarray(to! + paddingValue.length + 1)]
  const shorter = Buffer.concat(from! < 0 ? [message] : rest)
  shorter.writeInt32BE(shorter.length)
  return shorter
}

/**
 * Emits `close` right after `error`, and an error before every `close`. Otherwise a query sent between the two events
 * never ends (porsager/postgres#1215), and postgres.js reconnects without a pause to a server that closes each
 * connection before the startup message (porsager/postgres#1193).
 */
export function closeOnError(socket: Socket): void {
  const emit = socket.emit.bind(socket)
  let over = false
  socket.emit = (event: string | symbol, ...args: unknown[]): boolean => {
    if (event !== 'error' && event !== 'close') return emit(event, ...args)
    if (over) return true
    over = true
    const cause = event === 'error' ? args[0] : undefined
    const error =
      cause instanceof Error ? cause : connectionError('CONNECTION_CLOSED', 'The connection was closed')
    emit('error', error)
    return emit('close', true)
  }
}

/** After an interrupted result, the next result begins with holes (porsager/postgres#1181). */
export function withoutHoles(rows: unknown[]): unknown[] {
  const holes = 0 in rows ? 0 : rows.findIndex((_, i) => i in rows)
  if (holes > 0) rows.splice(0, holes)
  return rows
}

/**
 * Sends no other query on the connection until the reply: a pooler releases the server after a reply, also if the first
 * half of the next query was sent. `max_pipeline: 0` would do the same, but would break transactions.
 */
export function sendAlone(query: object): void {
  const { options } = query as { options: { onexecute?: () => boolean } }
  options.onexecute ??= () => false
}

/**
 * After a connection broke within a transaction, postgres.js sends COMMIT or ROLLBACK to a socket that is null: the
 * process ends. The promise of the transaction has the error of the connection.
 */
export function withoutLateEnd(sql: Sql): Sql {
  const { begin } = sql
  type Work = (tx: TransactionSql) => unknown
  const checked = (...args: [Work] | [string, Work]) => {
    const work = args.pop() as Work
    let isOver = false
    const over = () => void (isOver = true)
    const ended = begin(args.join(''), async (tx) => {
      try {
        const result = await work(tx)
        if (isOver) await never()
        return result
      } catch (error) {
        await nextTurn()
        if (isOver) await never()
        throw error
      }
    })
    ended.then(over, over)
    return ended
  }
  return Object.assign(sql, { begin: checked as Sql['begin'] })
}

const never = () => new Promise<never>(() => {})
