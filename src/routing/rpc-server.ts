import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { LRUCache } from 'lru-cache'
import { WebSocketServer, type WebSocket } from 'ws'
import type { Log } from '../log.ts'
import { throttle } from '../throttle.ts'
import { within } from '../within.ts'
import { authenticate, deriveKeys, createWelcome } from './handshake.ts'
import { ownAddress } from './own-address.ts'
import { goodbye, type Peer, type RpcOptions, type RequestHandler, tickMs } from './rpc.ts'
import { RpcServerConnection } from './rpc-server-connection.ts'

const rememberedNonces = 100_000
const timeouts = { headersTimeout: 2_000, requestTimeout: 2_000, connectionsCheckingInterval: 500 }

export class RpcServer {
  private readonly http = createServer(timeouts)
  private readonly sockets: WebSocketServer
  private readonly clients = new Map<WebSocket, RpcServerConnection>()
  private readonly nonces = new LRUCache<string, true>({ max: rememberedNonces })
  private readonly keys: Buffer[]
  private readonly logRejected: (reason: string) => void
  private readonly timer = setInterval(() => this.clients.forEach((client) => client.tick()), tickMs)
  private isLeaving = false

  constructor(
    private readonly id: string,
    private readonly options: RpcOptions,
    private readonly handle: RequestHandler,
    private readonly log: Log,
  ) {
    this.timer.unref()
    this.keys = deriveKeys(options.secrets)
    this.logRejected = throttle(1_000, (reason) => log.warn({ reason }, 'rejected an unauthenticated peer'))
    const { maxBytes: maxPayload } = options
    this.sockets = new WebSocketServer({ noServer: true, maxPayload, perMessageDeflate: false })
    this.http.on('request', (_, response) => response.writeHead(426, { connection: 'close' }).end())
    this.http.on('upgrade', (request, socket, head) => this.upgrade(request, socket, head))
    this.http.on('clientError', (error, socket) => {
      this.logRejected(error.message)
      socket.destroy()
    })
  }

  async listen(host: string, port: number): Promise<Peer> {
    this.http.listen(port, host)
    await once(this.http, 'listening')
    this.http.on('error', (error) =>
      this.log.error({ reason: error.message }, 'cannot accept connections from other processes'),
    )
    return { id: this.id, host: ownAddress(host), port: (this.http.address() as AddressInfo).port }
  }

  /** Sends a goodbye, and serves pending requests until all clients have disconnected. */
  async leave(timeoutMs: number): Promise<void> {
    this.isLeaving = true
    const sockets = [...this.clients.keys()]
    for (const socket of sockets) socket.send(goodbye)
    await within(timeoutMs, Promise.all(sockets.map((socket) => once(socket, 'close'))))
  }

  async close(): Promise<void> {
    clearInterval(this.timer)
    const closed = new Promise<void>((resolve) => this.http.close(() => resolve()))
    for (const socket of this.clients.keys()) socket.terminate()
    this.http.closeAllConnections()
    await closed
  }

  private upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    try {
      const [nonce, key] = authenticate(this.keys, this.id, request.headers.authorization)
      if (this.nonces.has(nonce)) throw new Error('the nonce was used before')
      this.nonces.set(nonce, true)
      if (this.isLeaving) return reject(socket, '503 Service Unavailable')
      this.sockets.handleUpgrade(request, socket, head, (client) => this.accept(client, nonce, key))
    } catch (error) {
      this.logRejected(String(error instanceof Error ? error.message : error))
      reject(socket, '401 Unauthorized')
    }
  }

  private accept(socket: WebSocket, nonce: string, key: Buffer): void {
    this.clients.set(socket, new RpcServerConnection(socket, this.options, this.handle, this.log))
    socket.on('close', () => this.clients.delete(socket))
    socket.send(JSON.stringify(createWelcome(key, this.id, nonce, performance.now())))
  }
}

const reject = (socket: Duplex, status: string) =>
  void socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`)
