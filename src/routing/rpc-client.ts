import type { Log } from '../log.ts'
import { deriveKeys } from './handshake.ts'
import { type Peer, type RpcOptions, type RpcResponse, tickMs } from './rpc.ts'
import { ConnectionLost, RpcClientConnection } from './rpc-client-connection.ts'

const minDelayMs = 1_000
const maxDelayMs = 8_000

interface ServerState {
  peer: Peer
  connection?: RpcClientConnection
  failures: number
  retryAt: number
  hasLeft: boolean
}

export class RpcClient {
  private readonly servers = new Map<string, ServerState>()
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

  /** @throws HttpError 503 when too many requests are pending; ConnectionLost when no response can arrive */
  call(peer: Peer, payload: unknown, deadline: number): Promise<RpcResponse> {
    let server = this.servers.get(peer.id)
    server ??= { peer, failures: 0, retryAt: 0, hasLeft: false }
    this.servers.set(peer.id, server)
    const connection = server.connection ?? this.connect(server)
    if (connection) return connection.call(payload, deadline)
    return Promise.reject(new ConnectionLost(false, 'the process cannot be reached'))
  }

  /** Returns false after a goodbye or a failed connection. After a failure, this call may reconnect. */
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
    for (const { connection } of this.servers.values()) connection?.close('this process is shutting down')
  }

  private connect(server: ServerState): RpcClientConnection | undefined {
    if (this.isClosed || server.hasLeft || performance.now() < server.retryAt) return undefined
    const onClose = (reason: string) => this.onClose(server, reason)
    try {
      return (server.connection = new RpcClientConnection(server.peer, this.keys, this.options, onClose))
    } catch (error) {
      onClose(String(error))
      return undefined
    }
  }

  private onClose(server: ServerState, reason: string): void {
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
