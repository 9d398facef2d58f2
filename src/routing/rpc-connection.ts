import { WebSocket } from 'ws'
import { unavailable } from '../wire/refusals.ts'
import { Batch } from './batch.ts'
import { ClockOffset } from './clock-offset.ts'
import { authorizationOf, helloTo, verifyWelcome, type Welcome } from './handshake.ts'
import { Heartbeat } from './heartbeat.ts'
import { ConnectionLost, envelopeBytes, handshakeMs, type Peer } from './rpc.ts'
import { goodbye, type RpcOptions, type RpcResponse, tickMs } from './rpc.ts'

/** A response so long after the deadline will not arrive: the server rejects what is past its deadline. */
const graceMs = 500

interface Call {
  text: string
  bytes: number
  deadline: number
  resolve(response: RpcResponse): void
  reject(reason: Error): void
}

export interface ConnectionEvents {
  opened(): void
  leaving(): void
  closed(reason: string): void
}

/** The client's side of one connection: requests of one turn of the event loop travel in one message. */
export class RpcConnection {
  private readonly socket: WebSocket
  private readonly clock = new ClockOffset()
  private readonly heartbeat = new Heartbeat()
  private readonly unsent = new Batch<Call>((calls) => this.send(calls))
  private readonly pending = new Map<number, Call>()
  private state: 'connecting' | 'open' | 'leaving' | 'closed' = 'connecting'
  private reason = 'the connection was closed'
  private nextId = 0
  private ageMs = 0
  private maxBytes = 0

  /** @throws Error when the address is not valid */
  constructor(
    { id, host, port }: Peer,
    private readonly keys: Buffer[],
    private readonly options: RpcOptions,
    private readonly events: ConnectionEvents,
    private readonly hello = helloTo(id, options.maxBytes),
  ) {
    this.socket = new WebSocket(`ws://${host.includes(':') ? `[${host}]` : host}:${port}`, {
      headers: { authorization: authorizationOf(keys, hello) },
      maxPayload: options.maxBytes,
      perMessageDeflate: false,
    })
    this.socket.on('message', (data) => this.receive(String(data)))
    this.socket.on('error', (error) => (this.reason = error.message))
    this.socket.on('close', () => this.closed())
  }

  call(payload: unknown, deadline: number): Promise<RpcResponse> {
    return new Promise((resolve, reject) => {
      if (this.state === 'leaving' || this.state === 'closed')
        throw new ConnectionLost(false, 'that process is leaving')
      const text = JSON.stringify(payload)
      const bytes = Buffer.byteLength(text) + envelopeBytes
      if (!this.hasRoomFor(bytes)) throw unavailable('Too many writes wait')
      this.unsent.add({ text, bytes, deadline, resolve, reject })
    })
  }

  /** Closes a silent connection, and gives up calls that are long past their deadline. */
  tick(): void {
    if (this.state === 'connecting') {
      this.ageMs += tickMs
      if (this.ageMs > handshakeMs) this.close('no handshake in time')
      return
    }
    const beat = this.heartbeat.tick(tickMs, this.pending.size > 0)
    if (beat === 'send') this.socket.send('[0]')
    if (beat === 'lost') return this.close('went silent')
    const givenUp = performance.now() - graceMs
    for (const [id, { deadline, reject }] of this.pending) {
      if (deadline > givenUp) continue
      this.pending.delete(id)
      reject(new ConnectionLost(true, 'no answer in time'))
    }
    this.closeWhenDone()
  }

  close(reason: string): void {
    this.reason = reason
    this.socket.terminate()
    this.closed()
  }

  private closed(): void {
    if (this.state === 'closed') return
    this.state = 'closed'
    this.events.closed(this.reason)
    this.loseUnsent(this.reason)
    for (const { reject } of this.pending.values()) reject(new ConnectionLost(true, this.reason))
    this.pending.clear()
  }

  private hasRoomFor(bytes: number): boolean {
    const { maxPending, maxUnsentBytes } = this.options
    const unsent = this.unsent.bytes + this.socket.bufferedAmount
    return (
      this.pending.size + this.unsent.length < maxPending &&
      (unsent === 0 || unsent + bytes <= maxUnsentBytes)
    )
  }

  private send(calls: Call[]): void {
    // A call that is larger than a message comes alone.
    if (calls[0]!.bytes > this.maxBytes) return calls[0]!.resolve({ kind: 'unknown' })
    const aheadMs = this.clock.at(performance.now())
    let text = `[${this.nextId}`
    for (const call of calls) {
      text += `,${Math.floor(call.deadline + aheadMs)},${call.text}`
      call.text = ''
      this.pending.set(this.nextId++, call)
    }
    this.socket.send(`${text}]`)
  }

  private receive(text: string): void {
    try {
      this.heartbeat.received()
      if (this.state === 'connecting') this.open(JSON.parse(text))
      else if (text === goodbye) this.leave()
      else this.settle(text)
    } catch (error) {
      this.close(String(error instanceof Error ? error.message : error))
    }
  }

  private open(welcome: Welcome): void {
    verifyWelcome(this.keys, this.hello, welcome)
    this.clock.receive(welcome.clock, performance.now())
    this.maxBytes = Math.min(welcome.maxBytes, this.options.maxBytes)
    this.state = 'open'
    this.events.opened()
    this.unsent.open(this.maxBytes)
  }

  private settle(text: string): void {
    let from = text.indexOf('\n') + 1
    const message = JSON.parse(text.slice(0, from)) as [clock: number, ...unknown[]]
    this.clock.receive(message[0], performance.now())
    for (let i = 1; i < message.length; i += 3) {
      const [id, length, response] = message.slice(i, i + 3) as [number, number, RpcResponse]
      if (response.kind === 'reply') response.body = text.slice(from, (from += length))
      const call = this.pending.get(id)
      this.pending.delete(id)
      call?.resolve(response)
    }
    this.closeWhenDone()
  }

  private leave(): void {
    this.state = 'leaving'
    this.events.leaving()
    this.loseUnsent('that process is leaving')
    this.closeWhenDone()
  }

  private loseUnsent(reason: string): void {
    for (const { reject } of this.unsent.take()) reject(new ConnectionLost(false, reason))
  }

  private closeWhenDone(): void {
    if (this.state === 'leaving' && this.pending.size === 0) this.socket.close()
  }
}
