import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { LRUCache } from 'lru-cache'
import { WebSocketServer, type WebSocket } from 'ws'
import { atMostEvery } from '../at-most-every.ts'
import { within } from '../within.ts'
import { authenticate, deriveKeys, type Hello, welcomeOf } from './handshake.ts'
import { goodbye, handshakeMs, type Log, type RpcRequest, type RpcServerOptions } from './rpc.ts'
import { tickMs, UnauthenticatedPeer } from './rpc.ts'
import { ServedConnection } from './rpc-served.ts'

/** Nonces that were used with a right proof: a proof that was overheard is rejected. */
const rememberedNonces = 100_000

/** @throws Error when the port is taken */
export async function openRpcServer(
  options: RpcServerOptions,
  serve: (requests: RpcRequest[]) => void,
  log: Log,
): Promise<RpcServer> {
  const server = new RpcServer(options, serve, log)
  await server.open()
  return server
}

/** Serves requests of other processes. */
export class RpcServer {
  host = ''
  port = 0
  private readonly http: Server
  private readonly sockets: WebSocketServer
  private readonly clients = new Map<WebSocket, ServedConnection>()
  private readonly nonces = new LRUCache<string, true>({ max: rememberedNonces })
  private readonly keys: Buffer[]
  private isLeaving = false
  private timer: ReturnType<typeof setInterval> | undefined
  private allLeft = () => {}
  private readonly reject: (reason: string) => void

  constructor(
    private readonly options: RpcServerOptions,
    private readonly serve: (requests: RpcRequest[]) => void,
    private readonly log: Log,
  ) {
    this.keys = deriveKeys(options.secrets)
    this.reject = atMostEvery(1_000, (reason) => log.warn({ reason }, 'rejected an unauthenticated peer'))
    const limits = {
      headersTimeout: handshakeMs,
      requestTimeout: handshakeMs,
      connectionsCheckingInterval: 500,
    }
    this.http = createServer(limits, (_, response) => {
      this.reject('no upgrade request')
      response.writeHead(426, { connection: 'close' }).end()
    })
    this.http.on('upgrade', (request, socket, head) => this.upgrade(request, socket, head))
    this.http.on('clientError', (error, socket) => {
      this.reject(error.message)
      socket.destroy()
    })
    const { maxBytes: maxPayload } = options
    this.sockets = new WebSocketServer({ noServer: true, maxPayload, perMessageDeflate: false })
  }

  async open(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.http.once('error', reject)
      this.http.listen(this.options.port, this.options.host, resolve)
    })
    this.http.on('error', (error) => this.log.error({ reason: error.message }, 'cannot take connections'))
    const { address, port } = this.http.address() as AddressInfo
    this.host = address
    this.port = port
    this.timer = setInterval(() => this.clients.forEach((client) => client.tick()), tickMs)
    this.timer.unref()
  }

  /** Clients send nothing new; requests that are on their way are still served. */
  goodbye(): void {
    this.isLeaving = true
    for (const socket of this.clients.keys()) socket.send(goodbye)
  }

  /** Resolves when all clients have closed their connections, or after the time-out. */
  async left(timeoutMs: number): Promise<void> {
    if (this.clients.size === 0) return
    await within(timeoutMs, new Promise<void>((resolve) => (this.allLeft = resolve)))
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
      const { id } = this.options
      const [hello, key] = authenticate(this.keys, id, request.headers.authorization)
      if (this.nonces.has(hello.nonce)) throw new UnauthenticatedPeer('repeats a proof')
      this.nonces.set(hello.nonce, true)
      if (this.isLeaving)
        return void socket.end('HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\n')
      this.sockets.handleUpgrade(request, socket, head, (client) => this.welcome(client, hello, key))
    } catch (error) {
      this.reject(String(error instanceof Error ? error.message : error))
      socket.end('HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n\r\n')
    }
  }

  private welcome(socket: WebSocket, hello: Hello, key: Buffer): void {
    const { options, serve, log } = this
    this.clients.set(socket, new ServedConnection(socket, hello.maxBytes, options, serve, log))
    socket.on('close', () => {
      this.clients.delete(socket)
      if (this.clients.size === 0) this.allLeft()
    })
    socket.send(JSON.stringify(welcomeOf(key, hello, options.maxBytes, performance.now())))
  }
}
