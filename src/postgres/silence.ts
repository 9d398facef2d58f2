import type { Socket } from 'node:net'
import { unreached } from './errors.ts'

const tickMs = 100

export interface Wait {
  limitMs: number
  waitedMs: number
  late(error: Error): void
}

/**
 * Ends queries that take too long, and silent connections: a lost route or a vanished host closes no connection, and
 * postgres.js waits for ever (porsager/postgres#1089). Time counts in ticks, so time in which this process was frozen
 * does not count.
 */
export class Silence {
  private readonly quietMs = new Map<Socket, number>()
  private readonly waits = new Set<Wait>()
  private readonly timer = setInterval(() => this.tick(), tickMs)

  constructor() {
    this.timer.unref()
  }

  watch(socket: Socket): void {
    this.quietMs.set(socket, 0)
    socket.on('data', () => this.quietMs.set(socket, 0))
    socket.on('close', () => this.quietMs.delete(socket))
  }

  begin(wait: Wait): void {
    this.waits.add(wait)
  }

  over(wait: Wait): void {
    this.waits.delete(wait)
  }

  close(): void {
    clearInterval(this.timer)
    for (const socket of this.quietMs.keys()) socket.destroy()
  }

  private tick(): void {
    for (const [socket, ms] of this.quietMs) this.quietMs.set(socket, ms + tickMs)
    for (const wait of this.waits) {
      wait.waitedMs += tickMs
      if (wait.waitedMs < wait.limitMs) continue
      this.waits.delete(wait)
      // First, so that a repeated query gets a fresh connection.
      this.endQuiet((wait.limitMs * 3) / 4)
      wait.late(unreached('QUERY_TIMEOUT', 'Postgres did not answer in time'))
    }
  }

  /** Also ends idle connections, which costs nothing. Postgres itself cancels a statement before it is silent for so long. */
  private endQuiet(silentMs: number): void {
    for (const [socket, quietMs] of this.quietMs) {
      if (quietMs < silentMs) continue
      this.quietMs.delete(socket)
      socket.destroy(unreached('CONNECTION_SILENT', 'Postgres went silent'))
    }
  }
}
