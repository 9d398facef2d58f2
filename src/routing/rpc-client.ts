import { WebSocket } from 'ws'
import { inUrl } from '../hosts.ts'
import type { Log } from '../logger.ts'
import { unavailable } from '../responses/errors.ts'
import {
  MessageBuffer,
  channelKeys,
  authorizationHeader,
  newNonce,
  verifyWelcome,
  type Peer,
  type RpcOptions,
  type RpcResponse,
  tickMs,
  overheadBytes,
} from './rpc.ts'

const reconnectMs = 1_000

interface ServerState {
  peer: Peer
  connection?: RpcClientConnection | undefined
  /** The end of the pause after a failed connection. */
  retryAt?: number
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
    this.keys = channelKeys(options.secrets)
    this.timer.unref()
  }

  /** @throws HttpError 503 when too many requests are pending; ConnectionLost when no response can arrive */
  call(peer: Peer, payload: unknown, deadline: number): Promise<RpcResponse> {
    let server = this.servers.get(peer.id)
    if (!server) this.servers.set(peer.id, (server = { peer }))
    this.connect(server)
    if (server.connection) return server.connection.call(payload, deadline)
    return Promise.reject(new ConnectionLost(false, 'the process cannot be reached'))
  }

  /** Returns false after a failed connection, until this call has reconnected. */
  isUsable(id: string): boolean {
    const server = this.servers.get(id)
    if (!server || server.connection?.state === 'open') return !this.isClosed
    this.connect(server)
    return !this.isClosed && server.retryAt === undefined
  }

  close(): void {
    this.isClosed = true
    clearInterval(this.timer)
    for (const { connection } of this.servers.values()) connection?.close('this process is shutting down')
  }

  private connect(server: ServerState): void {
    if (server.connection || this.isClosed || performance.now() < (server.retryAt ?? 0)) return
    const onClose = (reason: string) => {
      server.connection = undefined
      server.retryAt = performance.now() + reconnectMs
      if (!this.isClosed)
        this.log.warn({ process: server.peer.id, reason }, 'lost the connection to another process')
    }
    try {
      server.connection = new RpcClientConnection(server.peer, this.keys, this.options, onClose)
    } catch (error) {
      onClose(String(error))
    }
  }
}

/** The server starts no request after its deadline, but a started request may end later. */
const graceMs = 500
const heartbeatMs = 500
const silenceTimeoutMs = 2_000

interface PendingCall {
  text: string
  bytes: number
  deadline: number
  resolve(response: RpcResponse): void
  reject(reason: Error): void
}

export class ConnectionLost extends Error {
  constructor(
    /** False if the request never left this process: a retry is then safe. */
    readonly sent: boolean,
    reason: string,
  ) {
    super(reason)
  }
}

class RpcClientConnection {
  state: 'connecting' | 'open' | 'closed' = 'connecting'
  private readonly socket: WebSocket
  /** How far the server's clock is ahead, by its latest message: too low by the latency, so never too high. */
  private aheadMs = 0
  private readonly unsent: MessageBuffer<PendingCall> = new MessageBuffer(
    (calls) => this.send(calls),
    () => this.state === 'open',
  )
  private readonly pending = new Map<number, PendingCall>()
  private readonly nonce = newNonce()
  private nextId = 0
  private silentMs = 0

  constructor(
    private readonly server: Peer,
    private readonly keys: Buffer[],
    private readonly options: RpcOptions,
    private readonly onClose: (reason: string) => void,
  ) {
    const { id, host, port } = server
    this.socket = new WebSocket(`ws://${inUrl(host)}:${port}`, {
      headers: { authorization: authorizationHeader(keys, id, this.nonce) },
      maxPayload: options.maxBytes,
      perMessageDeflate: false,
    })
    this.socket.on('message', (data) => this.receive(String(data)))
    this.socket.on('error', ({ message }) => this.close(message))
    this.socket.on('close', () => this.close('the connection was closed'))
  }

  call(payload: unknown, deadline: number): Promise<RpcResponse> {
    return new Promise((resolve, reject) => {
      const text = JSON.stringify(payload)
      const bytes = Buffer.byteLength(text) + overheadBytes
      if (bytes > this.options.maxBytes) return resolve({ kind: 'unknown' })
      if (!this.hasRoomFor(bytes)) throw unavailable('Too many writes wait')
      this.unsent.add({ text, bytes, deadline, resolve, reject })
    })
  }

  tick(): void {
    this.silentMs += tickMs
    const isOpening = this.state === 'connecting'
    if (this.silentMs >= silenceTimeoutMs)
      return this.close(isOpening ? 'no handshake in time' : 'no heartbeat in time')
    if (!isOpening && this.silentMs % heartbeatMs === 0) this.socket.send('[0]')
    const latestExpired = performance.now() - graceMs
    for (const [id, { deadline, reject }] of this.pending) {
      if (deadline > latestExpired) continue
      this.pending.delete(id)
      reject(new ConnectionLost(true, 'no answer in time'))
    }
  }

  close(reason: string): void {
    if (this.state === 'closed') return
    this.onClose(reason)
    this.state = 'closed'
    this.socket.terminate()
    for (const { reject } of this.unsent.drain()) reject(new ConnectionLost(false, reason))
    for (const { reject } of this.pending.values()) reject(new ConnectionLost(true, reason))
    this.pending.clear()
  }

  private hasRoomFor(bytes: number): boolean {
    const { maxPending, maxUnsentBytes } = this.options
    const unsent = this.unsent.bytes + this.socket.bufferedAmount
    const isFull = unsent > 0 && unsent + bytes > maxUnsentBytes
    return !isFull && this.pending.size + this.unsent.length < maxPending
  }

  private send(calls: PendingCall[]): void {
    let text = `[${this.nextId}`
    for (const call of calls) {
      text += `,${Math.floor(call.deadline + this.aheadMs)},${call.text}`
      call.text = ''
      this.pending.set(this.nextId++, call)
    }
    this.socket.send(`${text}]`)
  }

  private receive(text: string): void {
    this.silentMs = 0
    try {
      if (this.state === 'connecting') this.receiveWelcome(text)
      else this.receiveResponses(text)
    } catch (error) {
      this.close(String(error instanceof Error ? error.message : error))
    }
  }

  private receiveWelcome(text: string): void {
    const welcome = JSON.parse(text)
    verifyWelcome(this.keys, this.server.id, this.nonce, welcome)
    this.aheadMs = welcome.clock - performance.now()
    this.state = 'open'
    this.unsent.flush()
  }

  private receiveResponses(text: string): void {
    let from = text.indexOf('\n') + 1
    const message = JSON.parse(text.slice(0, from)) as [clock: number, ...unknown[]]
    this.aheadMs = message[0] - performance.now()
    for (let i = 1; i < message.length; i += 3) {
      const [id, length, response] = message.slice(i, i + 3) as [number, number, RpcResponse]
      if (response.kind === 'reply') response.body = text.slice(from, (from += length))
      const call = this.pending.get(id)
      this.pending.delete(id)
      call?.resolve(response)
    }
  }
}
