import { Asker } from './asker.ts'
import { tickMs } from './connection.ts'
import { deriveKeys } from './handshake.ts'
import { type Answer, type ChannelOptions, type Log, Lost, type Peer } from './protocol.ts'

/** How long a process that could not be reached is left alone: twice as long each time. */
const firstRestMs = 1_000
const longestRestMs = 8_000
/** A process that nobody has asked for so long is forgotten, unless it is connected. */
const forgottenMs = 60_000

interface Known {
  peer: Peer
  asker: Asker | undefined
  failures: number
  restsUntil: number
  hasLeft: boolean
  askedAt: number
}

export const openPeers = (options: ChannelOptions, log: Log): Peers => new Peers(options, log)

/** The processes that this one asks, each over one connection. */
export class Peers {
  private readonly known = new Map<string, Known>()
  private readonly keys: Buffer[]
  private isClosed = false
  private readonly timer = setInterval(() => this.tick(), tickMs)

  constructor(
    private readonly options: ChannelOptions,
    private readonly log: Log,
  ) {
    this.keys = deriveKeys(options.secrets)
    this.timer.unref()
  }

  /**
   * Sends with all else of this turn of the event loop that goes there; connects when needed.
   * @throws Refusal 503 when too much waits there; Lost when no answer can come any more: then that process is not usable
   * for a while, unless it was only late.
   */
  ask(peer: Peer, payload: unknown, deadline: number): Promise<Answer> {
    const known = this.meet(peer)
    known.askedAt = performance.now()
    const asker = known.asker ?? this.connect(known)
    return asker
      ? asker.ask(payload, deadline)
      : Promise.reject(new Lost(false, 'that process is out of reach'))
  }

  /** False while it said goodbye, or could not be reached or was silent a moment ago: then it is tried again first. */
  isUsable(id: string): boolean {
    const known = this.known.get(id)
    if (this.isClosed || known?.hasLeft) return false
    if (!known) return true
    known.askedAt = performance.now()
    if (known.failures === 0) return true
    if (!known.asker) this.connect(known)
    return false
  }

  async close(): Promise<void> {
    this.isClosed = true
    clearInterval(this.timer)
    for (const { asker } of this.known.values()) asker?.close()
  }

  private meet(peer: Peer): Known {
    let known = this.known.get(peer.id)
    if (!known) {
      known = { peer, asker: undefined, failures: 0, restsUntil: 0, hasLeft: false, askedAt: 0 }
      this.known.set(peer.id, known)
    }
    known.peer = peer
    return known
  }

  private connect(known: Known): Asker | undefined {
    if (this.isClosed || known.hasLeft || performance.now() < known.restsUntil) return undefined
    try {
      return (known.asker = new Asker(known.peer, this.keys, this.options, {
        opened: () => (known.failures = 0),
        saidGoodbye: () => (known.hasLeft = true),
        ended: (reason) => this.ended(known, reason),
      }))
    } catch (error) {
      this.ended(known, String(error))
      return undefined
    }
  }

  private ended(known: Known, reason: string): void {
    known.asker = undefined
    if (known.hasLeft || this.isClosed) return
    const restMs = Math.min(firstRestMs * 2 ** known.failures++, longestRestMs)
    known.restsUntil = performance.now() + restMs
    this.log.warn({ process: known.peer.id, reason, restMs }, 'lost the way to another process')
  }

  private tick(): void {
    const forgotten = performance.now() - forgottenMs
    for (const [id, { asker, askedAt }] of this.known) {
      if (asker) asker.tick()
      else if (askedAt < forgotten) this.known.delete(id)
    }
  }
}
