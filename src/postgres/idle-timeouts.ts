import type { Socket } from 'node:net'
import { connectionError } from './errors.ts'

const tickMs = 100

export interface PendingQuery {
  limitMs: number
  waitedMs: number
  fail(error: Error): void
}

type SocketState = { idleMs: number; limitMs: number; isAnswered: boolean }

/**
 * Fails queries after their time limit, and closes silent connections: after the loss of a network route, postgres.js
 * would wait forever (porsager/postgres#1089). Ticks do not count time during which this process was frozen.
 */
export class IdleTimeouts {
  private readonly sockets = new Map<Socket, SocketState>()
  readonly queries = new Set<PendingQuery>()
  private readonly timer = setInterval(() => this.tick(), tickMs)

  constructor() {
    this.timer.unref()
  }

  /** @param limitMs longer than the statement timeout; counts from the first query after a reply */
  watch(socket: Socket, limitMs: number): void {
    const state = { idleMs: 0, limitMs, isAnswered: false }
    this.sockets.set(socket, state)
    const begin = (isAnswered: boolean) => {
      state.idleMs = 0
      state.isAnswered = isAnswered
    }
    const write = socket.write.bind(socket) as (...all: unknown[]) => boolean
    socket.write = (...all: unknown[]) => {
      if (state.isAnswered) begin(false)
      return write(...all)
    }
    socket.on('data', () => begin(true))
    socket.on('close', () => this.sockets.delete(socket))
  }

  close(): void {
    clearInterval(this.timer)
    for (const socket of this.sockets.keys()) socket.destroy()
  }

  private tick(): void {
    for (const state of this.sockets.values()) state.idleMs += tickMs
    for (const query of this.queries) {
      query.waitedMs += tickMs
      if (query.waitedMs < query.limitMs) continue
      this.queries.delete(query)
      this.closeIdle()
      query.fail(connectionError('QUERY_TIMEOUT', 'Postgres did not answer in time'))
    }
  }

  /** Never closes a connection on which a statement may still run. */
  private closeIdle(): void {
    for (const [socket, { idleMs, limitMs }] of this.sockets) {
      if (idleMs < limitMs) continue
      this.sockets.delete(socket)
      socket.destroy(connectionError('CONNECTION_SILENT', 'The connection to Postgres timed out'))
    }
  }
}
