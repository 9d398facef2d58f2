import { LRUCache } from 'lru-cache'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { WebSocketServer, type WebSocket } from 'ws'
import type { Log } from '../logger.ts'
import { type HttpError, unavailable, writeTimedOut } from '../responses/errors.ts'
import { throttle, within } from '../waits.ts'
import {
  ownAddress,
  ownMachine,
  MessageBuffer,
  authenticate,
  channelKeys,
  createWelcome,
  type Peer,
  type RpcOptions,
  type RequestHandler,
  tickMs,
  overheadBytes,
  type RpcRequest,
  type RpcResponse,
} from './rpc.ts'

const rememberedNonces = 100_000
const closeTimeoutMs = 500
const timeouts = { headersTimeout: 2_000, requestTimeout: 2_000, connectionsCheckingInterval: 500 }

export class RpcServer {
  private readonly http = createServer(timeouts)
  private readonly sockets: WebSocketServer
  private readonly clients = new Map<WebSocket, RpcServerConnection>()
  private readonly nonces = new LRUCache<string, true>({ max: rememberedNonces })
  private readonly keys: Buffer[]
  private readonly logRejected: (reason: string) => void
  private readonly timer = setInterval(() => this.clients.forEach((client) => client.tick()), tickMs)

  constructor(
    private readonly id: string,
    private readonly options: RpcOptions,
    private readonly handle: RequestHandler,
    private readonly log: Log,
  ) {
    this.timer.unref()
    this.keys = channelKeys(options.secrets)
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
    const { port: ownPort } = this.http.address() as AddressInfo
    return { id: this.id, host: ownAddress(host), port: ownPort, machine: ownMachine() }
  }

  /** The caller must have ended all requests. Their responses are sent first. */
  async close(): Promise<void> {
    clearInterval(this.timer)
    await setImmediate()
    const closed = new Promise<void>((resolve) => this.http.close(() => resolve()))
    for (const socket of this.clients.keys()) socket.close()
    await within(closeTimeoutMs, closed)
    for (const socket of this.clients.keys()) socket.terminate()
    this.http.closeAllConnections()
    await closed
  }

  private upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    try {
      const [nonce, key] = authenticate(this.keys, this.id, request.headers.authorization)
      if (this.nonces.has(nonce)) throw new Error('the nonce was used before')
      this.nonces.set(nonce, true)
      this.sockets.handleUpgrade(request, socket, head, (client) => this.accept(client, nonce, key))
    } catch (error) {
      this.logRejected(String(error instanceof Error ? error.message : error))
      socket.end('HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n\r\n')
    }
  }

  private accept(socket: WebSocket, nonce: string, key: Buffer): void {
    this.clients.set(socket, new RpcServerConnection(socket, this.options, this.handle, this.log))
    socket.on('close', () => this.clients.delete(socket))
    socket.send(JSON.stringify(createWelcome(key, this.id, nonce, performance.now())))
  }
}

/** Clients send heartbeats far more often, so a silent client is lost. */
const silenceTimeoutMs = 30_000

type SentResponse = { head: string; body: string; bytes: number }

export class RpcServerConnection {
  private readonly pending = new Set<number>()
  private readonly unsent = new MessageBuffer<SentResponse>((items) => this.send(items))
  private silentMs = 0

  constructor(
    private readonly socket: WebSocket,
    private readonly options: RpcOptions,
    private readonly handle: RequestHandler,
    private readonly log: Log,
  ) {
    socket.on('message', (data) => this.receive(String(data)))
    socket.on('error', ({ message: reason }) =>
      log.warn({ reason }, 'lost the connection of another process'),
    )
  }

  tick(): void {
    this.silentMs += tickMs
    const hasRoom = this.socket.bufferedAmount <= this.options.maxUnsentBytes
    if (this.silentMs > silenceTimeoutMs) this.socket.terminate()
    else if (this.socket.isPaused && hasRoom) this.socket.resume()
  }

  private receive(text: string): void {
    this.silentMs = 0
    try {
      const message: unknown = JSON.parse(text)
      if (!Array.isArray(message)) throw new TypeError('not an array')
      if (message.length === 1) this.send([])
      else this.receiveRequests(message as [number, ...unknown[]])
    } catch (error) {
      this.log.error({ reason: String(error) }, 'received an invalid message from another process')
      this.socket.terminate()
    }
  }

  private receiveRequests(message: [number, ...unknown[]]): void {
    const now = performance.now()
    const requests: RpcRequest[] = []
    for (let i = 1; i < message.length; i += 2) {
      const id = message[0] + (i >> 1)
      const deadline = message[i] as number
      const respond = (response: RpcResponse) => this.respond(id, response)
      this.pending.add(id)
      if (deadline <= now) respond(toRpcError(writeTimedOut()))
      else if (this.pending.size > this.options.maxPending)
        respond(toRpcError(unavailable('Too many writes wait')))
      else requests.push({ payload: message[i + 1], deadline, respond })
    }
    try {
      this.handle(requests)
    } catch (error) {
      this.log.error({ reason: String(error) }, 'requests of another process failed')
      for (const { respond } of requests) respond({ kind: 'failed' })
    }
  }

  private respond(id: number, response: RpcResponse): void {
    if (!this.pending.delete(id)) return
    const item = encode(id, response)
    if (item.bytes <= this.options.maxBytes) return this.unsent.add(item)
    this.log.error({ bytes: item.bytes }, 'a response is too large for its client')
    this.unsent.add(encode(id, { kind: 'failed' }))
  }

  private send(items: SentResponse[]): void {
    let head = `[${Math.floor(performance.now())}`
    let bodies = ''
    for (const item of items) {
      head += item.head
      bodies += item.body
    }
    this.socket.send(`${head}]\n${bodies}`)
    // Reads no more requests until the client has read its responses.
    if (this.socket.bufferedAmount > this.options.maxUnsentBytes) this.socket.pause()
  }
}

function encode(id: number, response: RpcResponse): SentResponse {
  const [body, rest] = response.kind === 'reply' ? [response.body, { ...response, body: '' }] : ['', response]
  const head = `,${id},${body.length},${JSON.stringify(rest)}`
  return { head, body, bytes: Buffer.byteLength(head) + Buffer.byteLength(body) + overheadBytes }
}

export function toRpcError({ status, message, headers, details }: HttpError): RpcResponse {
  return { kind: 'refusal', status, message, headers, details }
}
