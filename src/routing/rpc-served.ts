import type { WebSocket } from 'ws'
import { unavailable } from '../responses/errors.ts'
import { Batch } from './batch.ts'
import { envelopeBytes, type Log, type RpcOptions, type RpcRequest } from './rpc.ts'
import { type RpcResponse, type Serve, tickMs } from './rpc.ts'

/** Clients send heartbeats more often. A client that is silent for so long, or reads no responses, is disconnected. */
const maxQuietMs = 30_000

type Item = { head: string; body: string; bytes: number }

/** The server's side of one connection: responses of one turn of the event loop travel in one message. */
export class ServedConnection {
  private readonly unanswered = new Set<number>()
  private readonly unsent = new Batch<Item>((items) => this.send(items))
  private quietMs = 0

  constructor(
    private readonly socket: WebSocket,
    private readonly options: RpcOptions,
    private readonly serve: Serve,
    private readonly log: Log,
  ) {
    socket.on('message', (data) => this.receive(String(data)))
    socket.on('error', ({ message: reason }) =>
      log.warn({ reason }, 'lost the connection of another process'),
    )
  }

  tick(): void {
    this.quietMs += tickMs
    const hasRoom = this.socket.bufferedAmount <= this.options.maxUnsentBytes
    if (this.quietMs > maxQuietMs) this.socket.terminate()
    else if (this.socket.isPaused && hasRoom) this.socket.resume()
  }

  private receive(text: string): void {
    this.quietMs = 0
    try {
      const message: unknown = JSON.parse(text)
      if (!Array.isArray(message)) throw new TypeError('not an array')
      if (message.length === 1) this.send([])
      else this.take(message as [number, ...unknown[]])
    } catch (error) {
      this.log.error({ reason: String(error) }, 'a message of another process cannot be read')
      this.socket.terminate()
    }
  }

  private take(message: [number, ...unknown[]]): void {
    const now = performance.now()
    const requests: RpcRequest[] = []
    for (let i = 1; i < message.length; i += 2) {
      const id = message[0] + (i >> 1)
      const deadline = message[i] as number
      const respond = (response: RpcResponse) => this.respond(id, response)
      this.unanswered.add(id)
      if (deadline <= now) respond(rejected('The write could not be finished in time'))
      else if (this.unanswered.size > this.options.maxPending) respond(rejected('Too many writes wait'))
      else requests.push({ payload: message[i + 1], deadline, respond })
    }
    try {
      this.serve(requests)
    } catch (error) {
      this.log.error({ reason: String(error) }, 'requests of another process failed')
      for (const { respond } of requests) respond({ kind: 'failed' })
    }
  }

  private respond(id: number, response: RpcResponse): void {
    if (!this.unanswered.delete(id)) return
    const item = itemOf(id, response)
    if (item.bytes <= this.options.maxBytes) return this.unsent.add(item)
    this.log.error({ bytes: item.bytes }, 'a response is too large for its client')
    this.unsent.add(itemOf(id, { kind: 'failed' }))
  }

  private send(items: Item[]): void {
    let head = `[${Math.floor(performance.now())}`
    let bodies = ''
    for (const item of items) {
      head += item.head
      bodies += item.body
    }
    this.socket.send(`${head}]\n${bodies}`)
    // No more requests are read until the client has read what waits for it.
    if (this.socket.bufferedAmount > this.options.maxUnsentBytes) this.socket.pause()
  }
}

function itemOf(id: number, response: RpcResponse): Item {
  const [body, rest] = response.kind === 'reply' ? [response.body, { ...response, body: '' }] : ['', response]
  const head = `,${id},${body.length},${JSON.stringify(rest)}`
  return { head, body, bytes: Buffer.byteLength(head) + Buffer.byteLength(body) + envelopeBytes }
}

function rejected(message: string): RpcResponse {
  const { status, headers } = unavailable(message)
  return { kind: 'refusal', status, message, headers }
}
