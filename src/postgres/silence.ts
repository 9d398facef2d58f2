import type { Socket } from 'node:net'
import { unreached } from './errors.ts'

const tickMs = 100

export interface Wait {
  limitMs: number
  waitedMs: number
  late(error: Error): void
}

type Quiet = { quietMs: number; limitMs: number; isAnswered: boolean }

/**
 * Ends queries that take too long, and silent connections: a lost route or a vanished host closes no connection, and
 * postgres.js waits for ever (porsager/postgres#1089). Time counts in ticks, so time in which this process was frozen
 * does not count.
 */
export class Silence {
  private readonly watched = new Map<Socket, Quiet>()
  private readonly waits = new Set<Wait>()
  private readonly timer = setInterval(() => this.tick(), tickMs)

  constructor() {
    this.timer.unref()
  }

  /** @param limitMs longer than Postgres may work on a statement: it is counted from the first one after an answer */
  watch(socket: Socket, limitMs: number): void {
    const quiet = { quietMs: 0, limitMs, isAnswered: false }
    this.watched.set(socket, quiet)
    const begin = (isAnswered: boolean) => {
      quiet.quietMs = 0
      quiet.isAnswered = isAnswered
    }
    const write = socket.write.bind(socket) as (...all: unknown[]) => boolean
    socket.write = (...all: unknown[]) => {
      if (quiet.isAnswered) begin(false)
      return write(...all)
    }
    socket.on('data', () => begin(true))
    socket.on('close', () => this.watched.delete(socket))
  }

  begin(wait: Wait): void {
    this.waits.add(wait)
  }

  over(wait: Wait): void {
    this.waits.delete(wait)
  }

  close(): void {
    clearInterval(this.timer)
    for (const socket of this.watched.keys()) socket.destroy()
  }

  private tick(): void {
    for (const quiet of this.watched.values()) quiet.quietMs += tickMs
    for (const wait of this.waits) {
      wait.waitedMs += tickMs
      if (wait.waitedMs < wait.limitMs) continue
      this.waits.delete(wait)
      // First, so that a repeated query gets a fresh connection.
      this.endQuiet()
      wait.late(unreached('QUERY_TIMEOUT', 'Postgres did not answer in time'))
    }
  }

  /** Also ends idle connections, which costs nothing; no statement that Postgres may still work on, in any pool. */
  private endQuiet(): void {
    for (const [socket, { quietMs, limitMs }] of this.watched) {
      if (quietMs < limitMs) continue
      this.watched.delete(socket)
      socket.destroy(unreached('CONNECTION_SILENT', 'Postgres went silent'))
    }
  }
}
