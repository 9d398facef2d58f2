import { isOverloaded } from '../postgres/batch.ts'
import { HttpError, unavailable } from '../responses/errors.ts'

/** Requests of one account in progress at once, while other accounts send requests too. */
const sharedRequests = 16
/** The same for each of many accounts whose requests wait. */
const fewestRequests = 4
/** A process counts as shared for so long after a request of another account. */
const sharedMs = 2_000
/** Places that requests of one account wait for, at most: each keeps up to 4 KiB of a body. */
const mostWaitingPlaces = 5_000
/** When no request of an account has ended for so long, those in progress wait for a fault, and hold up no others. */
const stuckMs = 250
/** Lines below which no idle one is dropped. */
const fewestLines = 10_000
/** Writes of a batch that cost as much event-loop time as one request by itself. */
const writesOfRequest = 32
/** Bytes of a body that cost as much as one write. */
const bytesOfWrite = 128

export const tooManyOfOne = () =>
  new HttpError(429, 'Too many requests of this account wait', { 'retry-after': '1' })

/** The cost of reading a request, in writes. */
export const writesIn = ({ headers }: Request): number =>
  Math.max(1, Number(headers.get('content-length')) / bytesOfWrite)

const placesOf = (writes: number): number => Math.ceil(writes / writesOfRequest)

/** One account's requests in this process. */
interface Line {
  accountId: string
  /** Of all requests in progress. */
  places: number
  waiting: { since: number; turn: Turn; places: number; admit: (turn: Turn) => void }[]
  waitingPlaces: number
  /** Grows when the places of stuck requests are given to others: then the places that they took no longer count. */
  round: number
  /** When a request ended last while others waited, or the last one in progress, on the clock of performance.now(). */
  endedAt: number
}

/** A request in progress, until it ends. */
export class Turn {
  places = 0
  private round = 0

  constructor(
    private readonly scheduler: Scheduler,
    readonly line: Line,
  ) {}

  take(places: number): void {
    this.line.places += places
    this.places = places
    this.round = this.line.round
  }

  release(): void {
    if (this.round === this.line.round) this.line.places -= this.places
    this.places = 0
  }

  /** Takes as many places as a request with so many writes costs. Rejects with 429 when too many requests wait. */
  widen(writes: number): Turn | Promise<Turn> {
    const places = placesOf(writes)
    if (places <= this.places) return this
    this.release()
    return this.scheduler.admit(this, places)
  }

  /** The request is answered, or waits for something that costs nothing: others may go on. */
  end(): void {
    this.scheduler.leave(this)
  }
}

/**
 * Lets accounts take turns. A request's latency grows with the requests in progress beside it, so an account may have few
 * in progress while a process serves others too; its other requests wait. An account that is alone never waits.
 */
export class Scheduler {
  private readonly lines = new Map<string, Line>()
  private readonly crowded = new Set<Line>()
  private isPumping = false
  private stuckTimer: ReturnType<typeof setInterval> | undefined
  private sweepAt = fewestLines
  private lastAccountId = ''
  private sharedUntil = -Infinity

  /** Admits a request: at once, unless too many of the same account are in progress. Rejects with 429 when too many wait. */
  enter(accountId: string, writes = 1): Turn | Promise<Turn> {
    if (accountId !== this.lastAccountId) this.changeTo(accountId)
    return this.admit(new Turn(this, this.lines.get(accountId) ?? this.open(accountId)), placesOf(writes))
  }

  /** The process is shared only if the account before has a request in progress, or had one lately. */
  private changeTo(accountId: string): void {
    const before = this.lines.get(this.lastAccountId)
    const now = performance.now()
    if (before && (before.places > 0 || now - before.endedAt <= sharedMs)) this.sharedUntil = now + sharedMs
    this.lastAccountId = accountId
  }

  /** Lines stay, because most accounts send another request soon: idle ones are dropped when there are many. */
  private open(accountId: string): Line {
    if (this.lines.size >= this.sweepAt) {
      for (const [id, { places, waiting }] of this.lines)
        if (places === 0 && waiting.length === 0) this.lines.delete(id)
      this.sweepAt = Math.max(fewestLines, 2 * this.lines.size)
    }
    const line: Line = { accountId, places: 0, waiting: [], waitingPlaces: 0, round: 0, endedAt: 0 }
    this.lines.set(accountId, line)
    return line
  }

  /** Whether several accounts have sent requests lately. */
  isShared(): boolean {
    return performance.now() <= this.sharedUntil
  }

  leave(turn: Turn): void {
    if (turn.places === 0) return // it has ended
    const { line } = turn
    turn.release()
    if (line.waiting.length === 0 && line.places > 0) return
    line.endedAt = performance.now()
    if (line.waiting.length > 0) this.pumpSoon()
  }

  admit(turn: Turn, places: number): Turn | Promise<Turn> {
    const { line } = turn
    if (line.waiting.length > 0 || !this.hasRoom(line, places)) return this.wait(turn, places)
    turn.take(places)
    return turn
  }

  /** A request that is larger than all places of its account is in progress alone. */
  private hasRoom(line: Line, places: number): boolean {
    if (line.places === 0 || line.places + places <= fewestRequests) return true
    const most = Math.max(fewestRequests, sharedRequests / Math.max(1, this.crowded.size))
    return line.places + places <= most || !this.isShared()
  }

  private wait(turn: Turn, places: number): Promise<Turn> {
    const { line } = turn
    if (line.places === 0) this.pumpSoon()
    if (line.waitingPlaces + places > mostWaitingPlaces) return Promise.reject(tooManyOfOne())
    if (isOverloaded(line.waiting)) return Promise.reject(unavailable('Too many requests wait'))
    this.crowded.add(line)
    line.waitingPlaces += places
    this.stuckTimer ??= setInterval(this.freeStuck, stuckMs).unref()
    const since = performance.now()
    return new Promise((admit) => void line.waiting.push({ since, turn, places, admit }))
  }

  /** In the next turn of the event loop: requests that are answered without a wait must not all run in this one. */
  private pumpSoon(): void {
    if (this.isPumping) return
    this.isPumping = true
    setImmediate(this.pump)
  }

  private readonly freeStuck = (): void => {
    const since = performance.now() - stuckMs
    for (const line of this.crowded) {
      if (line.endedAt > since || line.waiting[0]!.since > since) continue
      line.round++
      line.places = 0
    }
    if (this.crowded.size > 0) return this.pumpSoon()
    clearInterval(this.stuckTimer)
    this.stuckTimer = undefined
  }

  private readonly pump = (): void => {
    this.isPumping = false
    for (const line of this.crowded) {
      while (line.waiting.length > 0 && this.hasRoom(line, line.waiting[0]!.places)) {
        const { turn, places, admit } = line.waiting.shift()!
        line.waitingPlaces -= places
        turn.take(places)
        admit(turn)
      }
      if (line.waiting.length === 0) this.crowded.delete(line)
    }
  }
}
