import { connect } from 'node:net'
import { unavailable } from '../wire/refusals.ts'
import { Connection, tickMs } from './connection.ts'
import type { Frame } from './frames.ts'
import { AskerGreeting, greetingMs, type Terms } from './handshake.ts'
import { decodeAnswers, encodeAsks, envelopeBytes } from './messages.ts'
import { Outbox } from './outbox.ts'
import { Pending, type Waiting } from './pending.ts'
import { type Answer, type ChannelOptions, kinds, Lost, type Peer } from './protocol.ts'
import { Pulse } from './pulse.ts'
import { TheirClock } from './their-clock.ts'

export interface AskerEvents {
  opened(): void
  saidGoodbye(): void
  ended(reason: string): void
}

/** The connecting side of one connection: what is asked in one turn of the event loop travels in one frame. */
export class Asker {
  private readonly greeting: AskerGreeting
  private readonly connection: Connection
  private readonly clock = new TheirClock()
  private readonly pulse = new Pulse()
  private readonly outbox = new Outbox<Waiting>((frame) => this.send(frame))
  private readonly pending = new Pending()
  private ageMs = 0
  private mostBytes = 0
  private state: 'greeting' | 'open' | 'leaving' | 'ended' = 'greeting'

  constructor(
    peer: Peer,
    keys: Buffer[],
    private readonly options: ChannelOptions,
    private readonly events: AskerEvents,
  ) {
    this.greeting = new AskerGreeting(keys, peer.id, options.frameBytes)
    const socket = connect({ host: peer.host, port: peer.port })
    this.connection = new Connection(socket, this)
    socket.once('connect', () => this.connection.write(this.greeting.first()))
  }

  ask(payload: unknown, deadline: number): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.state === 'leaving' || this.state === 'ended') throw new Lost(false, 'that process is leaving')
      const text = JSON.stringify(payload)
      const bytes = Buffer.byteLength(text) + envelopeBytes
      if (!this.hasRoomFor(bytes)) throw unavailable('Too many writes wait')
      this.outbox.add({ text, bytes, deadline, resolve, reject })
    })
  }

  /** Watches over the other side, and over asks whose time is long past. */
  tick(): void {
    if (this.state === 'greeting') {
      this.ageMs += tickMs
      if (this.ageMs > greetingMs) this.connection.cut('no handshake in time')
      return
    }
    const sign = this.pulse.tick(tickMs, this.pending.size > 0)
    if (sign === 'ping') this.connection.send(kinds.ping)
    if (sign === 'lost') return this.connection.cut('went silent')
    this.pending.loseOverdue()
    this.closeWhenLeft()
  }

  close(): void {
    this.connection.cut('this process closes')
  }

  stirred(): void {
    this.pulse.heard()
  }

  heard({ kind, body }: Frame): void {
    if (this.state === 'greeting') return this.greet({ kind, body })
    if (kind === kinds.answers) return this.answered(body.toString())
    if (kind === kinds.pong) return this.clock.heard(body.readDoubleBE(0), performance.now())
    if (kind === kinds.goodbye) return this.leave()
    throw new Error(`a frame of kind ${kind} from a listener`)
  }

  ended(reason = 'the connection was closed'): void {
    this.state = 'ended'
    this.events.ended(reason)
    for (const { reject } of this.outbox.empty()) reject(new Lost(false, reason))
    this.pending.loseAll(reason)
  }

  private hasRoomFor(bytes: number): boolean {
    const { pendingAsks, unsentBytes } = this.options
    const unsent = this.outbox.bytes + this.connection.unsentBytes
    return (
      this.pending.size + this.outbox.length < pendingAsks && (unsent === 0 || unsent + bytes <= unsentBytes)
    )
  }

  private greet(frame: Frame): void {
    const step = this.greeting.heard(frame)
    if ('send' in step) this.connection.write(step.send)
    else this.open(step.terms)
  }

  private open({ frameBytes, clock }: Terms): void {
    this.clock.heard(clock, performance.now())
    this.mostBytes = Math.min(frameBytes, this.options.frameBytes)
    this.connection.allow(this.options.frameBytes)
    this.state = 'open'
    this.events.opened()
    this.outbox.open(this.mostBytes)
  }

  private send(frame: Waiting[]): void {
    // What is too large for a frame comes alone, and is as good as unknown there.
    if (frame[0]!.bytes > this.mostBytes) return frame[0]!.resolve({ kind: 'unknown' })
    const ahead = this.clock.aheadBy(performance.now())
    const asks = frame.map(({ text, deadline }) => ({ text, deadline: Math.floor(deadline + ahead) }))
    this.connection.send(kinds.asks, encodeAsks(this.pending.add(frame), asks))
  }

  private answered(text: string): void {
    const { clock, all } = decodeAnswers(text)
    this.clock.heard(clock, performance.now())
    for (const { id, answer } of all) this.pending.settle(id, answer)
    this.closeWhenLeft()
  }

  private leave(): void {
    this.state = 'leaving'
    this.events.saidGoodbye()
    for (const { reject } of this.outbox.empty()) reject(new Lost(false, 'that process is leaving'))
    this.closeWhenLeft()
  }

  private closeWhenLeft(): void {
    if (this.state === 'leaving' && this.pending.size === 0) this.connection.finish()
  }
}
