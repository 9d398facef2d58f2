import { deriveKeys } from './handshake.ts'
import { ConnectionLost, type Log, type Peer, type RpcOptions, type RpcResponse, tickMs } from './rpc.ts'
import { RpcConnection } from './rpc-connection.ts'

/** Delay before an unreachable process is tried again; it doubles with each failure. */
const minDelayMs = 1_000
const maxDelayMs = 8_000

interface Server {
  peer: Peer
  connection?: RpcConnection
  failures: number
  retryAt: number
  hasLeft: boolean
}

export class RpcClient {
  private readonly servers = new Map<string, Server>()
  private readonly keys: Buffer[]
  private isClosed = false
  private readonly timer = setInterval(
    () => this.servers.forEach(({ connection }) => connection?.tick()),
    tickMs,
  )

  constructor(
    private readonly options: RpcOptions,
    private readonly log: Log,
  ) {
    this.keys = deriveKeys(options.secrets)
    this.timer.unref()
  }

  /** Connects when needed. @throws HttpError 503 when too many requests wait there; ConnectionLost */
  call(peer: Peer, payload: unknown, deadline: number): Promise<RpcResponse> {
    let server = this.servers.get(peer.id)
    server ??= { peer, failures: 0, retryAt: 0, hasLeft: false }
    this.servers.set(peer.id, server)
    const connection = server.connection ?? this.connect(server)
    if (connection) return connection.call(payload, deadline)
    return Promise.reject(new ConnectionLost(false, 'that process is out of reach'))
  }

  /** False after a goodbye, or while the last attempt to reach the process failed: then it is tried again first. */
  isUsable(id: string): boolean {
    const server = this.servers.get(id)
    if (this.isClosed || server?.hasLeft) return false
    const state = server?.connection?.state
    if (!server || state === 'open') return true
    if (state === undefined && server.failures > 0) this.connect(server)
    return state !== 'leaving' && server.failures === 0
  }

  close(): void {
    this.isClosed = true
    clearInterval(this.timer)
    for (const { connection } of this.servers.values()) connection?.close('this process closes')
  }

  private connect(server: Server): RpcConnection | undefined {
    if (this.isClosed || server.hasLeft || performance.now() < server.retryAt) return undefined
    const closed = (reason: string) => this.closed(server, reason)
    try {
      return (server.connection = new RpcConnection(server.peer, this.keys, this.options, closed))
    } catch (error) {
      closed(String(error))
      return undefined
    }
  }

  private closed(server: Server, reason: string): void {
    const state = server.connection?.state
    server.connection = undefined
    server.hasLeft = state === 'leaving'
    if (server.hasLeft || this.isClosed) return
    server.failures = state === 'open' ? 1 : server.failures + 1
    const retryMs = Math.min(minDelayMs * 2 ** (server.failures - 1), maxDelayMs)
    server.retryAt = performance.now() + retryMs
    this.log.warn({ process: server.peer.id, reason, retryMs }, 'lost the connection to another process')
  }
}
