import type { Socket } from 'node:net'
import { Connection, tickMs } from './connection.ts'
import { encodeFrame, type Frame } from './frames.ts'
import { greetingMs, ListenerGreeting, Stranger } from './handshake.ts'
import { type Answered, decodeAsks, encodeAnswers, envelopeBytes, type HeardAsk } from './messages.ts'
import { Outbox } from './outbox.ts'
import { type Answer, type Ask, kinds, type ListenerOptions, type Log } from './protocol.ts'

/** Askers ping more often. One that says nothing for so long, or takes no answers, is cut off. */
const mostQuietMs = 30_000

const refused = (message: string): Answer => ({
  kind: 'refusal',
  status: 503,
  message,
  headers: { 'retry-after': '1' },
})

type Leaving = Answered & { bytes: number }

export interface ServedEvents {
  serve(asks: Ask[]): void
  /** True when this process is leaving, and the other is to know. */
  welcomed(served: Served): boolean
  ended(served: Served, reason?: string): void
  log: Log
}

/** The listening side of one connection: answers that are given in one turn of the event loop travel in one frame. */
export class Served {
  isWelcome = false
  private readonly greeting: ListenerGreeting
  private readonly connection: Connection
  private readonly unanswered = new Set<number>()
  private readonly outbox = new Outbox<Leaving>((frame) => this.send(frame))
  private isEnded = false
  private ageMs = 0
  private quietMs = 0
  private mostBytes = 0

  constructor(
    socket: Socket,
    keys: Buffer[],
    private readonly options: ListenerOptions,
    private readonly events: ServedEvents,
  ) {
    this.greeting = new ListenerGreeting(keys, options.me, options.frameBytes)
    this.connection = new Connection(socket, this)
  }

  tick(): void {
    this.ageMs += tickMs
    this.quietMs += tickMs
    if (!this.isWelcome && this.ageMs > greetingMs) this.cut('no handshake in time')
    else if (this.quietMs > mostQuietMs) this.cut('went silent')
  }

  goodbye(): void {
    this.connection.send(kinds.goodbye)
  }

  cut(reason: string): void {
    this.connection.cut(reason)
  }

  stirred(): void {
    this.quietMs = 0
  }

  ended(reason?: string): void {
    this.isEnded = true
    this.events.ended(this, reason)
  }

  heard(frame: Frame): void {
    if (!this.isWelcome) return this.greet(frame)
    if (frame.kind === kinds.asks) return this.take(decodeAsks(frame.body.toString()))
    if (frame.kind === kinds.ping) return this.connection.write(pong())
    throw new Error(`a frame of kind ${frame.kind} from an asker`)
  }

  private greet(frame: Frame): void {
    try {
      const { send, terms } = this.greeting.heard(frame, performance.now())
      if (!terms) return this.connection.write(send)
      this.isWelcome = true
      this.mostBytes = Math.min(terms.frameBytes, this.options.frameBytes)
      this.connection.allow(this.options.frameBytes)
      this.outbox.open(this.mostBytes)
      const isLeaving = this.events.welcomed(this)
      // In one piece, so that nothing is asked between the two.
      this.connection.write(isLeaving ? Buffer.concat([send, encodeFrame(kinds.goodbye)]) : send)
    } catch (error) {
      if (error instanceof Stranger && error.last) this.connection.finish(error.last)
      throw error
    }
  }

  private take(heard: HeardAsk[]): void {
    const now = performance.now()
    const asks: Ask[] = []
    for (const { id, deadline, payload } of heard) {
      this.unanswered.add(id)
      const answer = (what: Answer) => this.answer(id, what)
      if (deadline <= now) answer(refused('The write could not be finished in time'))
      else if (this.unanswered.size > this.options.pendingAsks) answer(refused('Too many writes wait'))
      else asks.push({ payload, deadline, answer })
    }
    if (asks.length > 0) this.serve(asks)
  }

  private serve(asks: Ask[]): void {
    try {
      this.events.serve(asks)
    } catch (error) {
      this.events.log.error({ reason: String(error) }, 'asks of another process failed')
      for (const ask of asks) ask.answer({ kind: 'failed' })
    }
  }

  private answer(id: number, answer: Answer): void {
    if (!this.unanswered.delete(id) || this.isEnded) return
    this.outbox.add(this.fitting(id, answer))
  }

  /** What cannot travel is answered as failed. */
  private fitting(id: number, answer: Answer): Leaving {
    const text = answer.kind === 'reply' ? answer.body : JSON.stringify(answer)
    const bytes = Buffer.byteLength(text) + envelopeBytes
    if (bytes <= this.mostBytes) return { id, answer, bytes }
    this.events.log.error({ bytes, mostBytes: this.mostBytes }, 'an answer is too large for who asked')
    return { id, answer: { kind: 'failed' }, bytes: envelopeBytes }
  }

  private send(frame: Leaving[]): void {
    this.connection.send(kinds.answers, encodeAnswers(Math.floor(performance.now()), frame))
    if (this.connection.unsentBytes > this.options.unsentBytes) this.connection.hearNothingUntilDrained()
  }
}

function pong(): Buffer {
  const clock = Buffer.alloc(8)
  clock.writeDoubleBE(performance.now(), 0)
  return encodeFrame(kinds.pong, clock)
}
