import type { Socket } from 'node:net'
import { Debt } from './debt.ts'
import { unreached } from './errors.ts'

const tickMs = 100

export interface Wait {
  leftMs: number
  late(error: Error): void
}

interface Watched {
  socket: Socket
  debt: Debt
  limitMs: number
  /** How long nothing was received, and how much of that something was owed. */
  quietMs: number
  owedMs: number
}

/**
 * Ends connections that have gone silent: a line may die without a word (a lost route, a host that vanished), and
 * postgres.js waits for ever (porsager/postgres#1089). Time is counted in ticks of this process, so that what it has
 * slept through is never blamed on Postgres.
 */
export class Silence {
  private readonly watched = new Set<Watched>()
  private readonly waits = new Set<Wait>()
  private readonly timer = setInterval(() => this.tick(), tickMs)

  constructor() {
    this.timer.unref?.()
  }

  /** Watches a connection from before its greeting until it ends; it may owe an answer for `limitMs`. */
  watch(socket: Socket, limitMs: number): void {
    const watched = { socket, debt: new Debt(), limitMs, quietMs: 0, owedMs: 0 }
    const write = socket.write.bind(socket) as (chunk: Buffer, done?: () => void) => boolean
    socket.write = (chunk: unknown, done?: unknown) => {
      watched.debt.wrote(chunk as Buffer)
      return write(chunk as Buffer, done as () => void)
    }
    socket.on('data', (chunk: Buffer) => {
      watched.debt.heard(chunk)
      watched.quietMs = watched.owedMs = 0
    })
    socket.on('close', () => this.watched.delete(watched))
    this.watched.add(watched)
  }

  /** Tells a wait that it was too long, unless it is over before. */
  limit(wait: Wait): void {
    this.waits.add(wait)
  }

  over(wait: Wait): void {
    this.waits.delete(wait)
  }

  close(): void {
    clearInterval(this.timer)
    for (const { socket } of this.watched) socket.destroy()
  }

  private tick(): void {
    for (const one of this.watched) {
      one.quietMs += tickMs
      one.owedMs = one.debt.isOwed ? one.owedMs + tickMs : 0
    }
    for (const one of this.watched) if (one.owedMs >= one.limitMs) this.end(one.owedMs)
    for (const wait of this.waits) {
      wait.leftMs -= tickMs
      if (wait.leftMs > 0) continue
      this.waits.delete(wait)
      wait.late(unreached('QUERY_TIMEOUT', 'Postgres did not answer in time'))
    }
  }

  /** The others are likely as dead: those that rest, which costs nothing, and those that say nothing either. */
  private end(silentMs: number): void {
    for (const one of this.watched) {
      const { isOwed } = one.debt
      if (isOwed && one.quietMs < silentMs / 2) continue
      this.watched.delete(one)
      one.socket.destroy(isOwed ? unreached('CONNECTION_SILENT', 'Postgres went silent') : undefined)
    }
  }
}
