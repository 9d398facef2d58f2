import { deriveKeys } from './handshake.ts'
import { ConnectionLost, type Log, type Peer, type RpcOptions, type RpcResponse, tickMs } from './rpc.ts'
import { RpcConnection } from './rpc-connection.ts'

/** Delay before an unreachable process is tried again; it doubles with each failure. */
const minDelayMs = 1_000
const maxDelayMs = 8_000
/** A process without a connection that was not called for so long is forgotten. */
const forgetMs = 60_000

interface Server {
  peer: Peer
  connection: RpcConnection | undefined
  failures: number
  retryAt: number
  hasLeft: boolean
  calledAt: number
}

/** Calls other processes, each over one connection. */
export class RpcClient {
  private readonly servers = new Map<string, Server>()
  private readonly keys: Buffer[]
  private isClosed = false
  private readonly timer = setInterval(() => this.tick(), tickMs)

  constructor(
    private readonly options: RpcOptions,
    private readonly log: Log,
  ) {
    this.keys = deriveKeys(options.secrets)
    this.timer.unref()
  }

  /**
   * Sends the request with all others of this turn of the event loop to that process; connects when needed.
   * @throws Refusal 503 when too many requests wait there
   * @throws ConnectionLost when no response can arrive any more
   */
  call(peer: Peer, payload: unknown, deadline: number): Promise<RpcResponse> {
    let server = this.servers.get(peer.id)
    if (!server) {
      server = { peer, connection: undefined, failures: 0, retryAt: 0, hasLeft: false, calledAt: 0 }
      this.servers.set(peer.id, server)
    }
    server.peer = peer
    server.calledAt = performance.now()
    const connection = server.connection ?? this.connect(server)
    if (connection) return connection.call(payload, deadline)
    return Promise.reject(new ConnectionLost(false, 'that process is out of reach'))
  }

  /** False after a goodbye, or while the last attempt to reach the process failed: then it is tried again first. */
  isUsable(id: string): boolean {
    const server = this.servers.get(id)
    if (this.isClosed || server?.hasLeft) return false
    if (!server || server.failures === 0) return true
    if (!server.connection) this.connect(server)
    return false
  }

  close(): void {
    this.isClosed = true
    clearInterval(this.timer)
    for (const { connection } of this.servers.values()) connection?.close('this process closes')
  }

  private connect(server: Server): RpcConnection | undefined {
    if (this.isClosed || server.hasLeft || performance.now() < server.retryAt) return undefined
    try {
      return (server.connection = new RpcConnection(server.peer, this.keys, this.options, {
        opened: () => (server.failures = 0),
        leaving: () => (server.hasLeft = true),
        closed: (reason) => this.closed(server, reason),
      }))
    } catch (error) {
      this.closed(server, String(error))
      return undefined
    }
  }

  private closed(server: Server, reason: string): void {
    server.connection = undefined
    if (server.hasLeft || this.isClosed) return
    const retryMs = Math.min(minDelayMs * 2 ** server.failures++, maxDelayMs)
    server.retryAt = performance.now() + retryMs
    this.log.warn({ process: server.peer.id, reason, retryMs }, 'lost the connection to another process')
  }

  private tick(): void {
    const forgotten = performance.now() - forgetMs
    for (const [id, { connection, calledAt }] of this.servers) {
      if (connection) connection.tick()
      else if (calledAt < forgotten) this.servers.delete(id)
    }
  }
}
