import type { WebSocket } from 'ws'
import type { Log } from '../log.ts'
import { type HttpError, unavailable, writeTimedOut } from '../responses/errors.ts'
import { Batch } from './batch.ts'
import { overheadBytes, type RpcOptions, type RpcRequest } from './rpc.ts'
import { type RpcResponse, type RequestHandler, tickMs } from './rpc.ts'

/** Clients send heartbeats far more often, so a silent client is lost. */
const silenceTimeoutMs = 30_000

type SentResponse = { head: string; body: string; bytes: number }

export class RpcServerConnection {
  private readonly pending = new Set<number>()
  private readonly unsent = new Batch<SentResponse>((items) => this.send(items))
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
      if (deadline <= now) respond(toRefusal(writeTimedOut()))
      else if (this.pending.size > this.options.maxPending)
        respond(toRefusal(unavailable('Too many writes wait')))
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

export function toRefusal({ status, message, headers }: HttpError): RpcResponse {
  return { kind: 'refusal', status, message, headers }
}
