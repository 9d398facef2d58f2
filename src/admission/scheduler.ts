import { placesOf } from './places.ts'
import { type Line, Turn } from './turn.ts'
import { Refusal, unavailable } from '../wire/refusals.ts'
import { isOverloaded } from '../postgres/batch.ts'

/** Requests of one account in progress at once, while other accounts send requests too. */
const sharedRequests = 16
/** The same for each of many accounts whose requests wait. */
const fewestRequests = 4
/** For so long after a request of another account, a process counts as shared. */
const sharedMs = 2_000
/** Places that requests of one account may wait for, at most: each keeps up to 4 KiB of a body. */
const mostWaitingPlaces = 5_000
/** When no request of an account has ended for so long, those in progress wait for a fault, and hold up no others. */
const stuckMs = 250

/**
 * Lets accounts take turns. A request's latency grows with the requests in progress beside it, so an account may have few
 * in progress while a process serves others too; its other requests wait. An account that is alone is never held up.
 */
export class Scheduler {
  private readonly lines = new Map<string, Line>()
  /** Lines in which requests wait. */
  private readonly crowded = new Set<Line>()
  private isPumping = false
  private stuckTimer: ReturnType<typeof setInterval> | undefined
  private lastAccountId = ''
  private sharedUntil = -Infinity

  /** Admits a request: at once, unless too many of the same account are in progress. Rejects with 429 when too many wait. */
  enter(accountId: string, writes = 1): Turn | Promise<Turn> {
    if (accountId !== this.lastAccountId) this.see(accountId)
    return this.admit(new Turn(this, this.lineOf(accountId)), placesOf(writes))
  }

  /** Whether several accounts have sent requests lately. */
  isShared(): boolean {
    return performance.now() <= this.sharedUntil
  }

  widen(turn: Turn, places: number): Turn | Promise<Turn> {
    if (turn.round === turn.line.round) turn.line.places -= turn.places
    turn.places = 0
    return this.admit(turn, places)
  }

  leave(turn: Turn): void {
    if (turn.places === 0) return // it has ended
    const { line } = turn
    line.endedAt = performance.now()
    if (turn.round === line.round) line.places -= turn.places
    turn.places = 0
    if (line.waiting.length > 0) this.pumpSoon()
    else if (line.places === 0) this.lines.delete(line.accountId)
  }

  private see(accountId: string): void {
    if (this.lastAccountId !== '') this.sharedUntil = performance.now() + sharedMs
    this.lastAccountId = accountId
  }

  private lineOf(accountId: string): Line {
    let line = this.lines.get(accountId)
    if (!line)
      this.lines.set(
        accountId,
        (line = { accountId, places: 0, waiting: [], waitingPlaces: 0, round: 0, endedAt: 0 }),
      )
    return line
  }

  private admit(turn: Turn, places: number): Turn | Promise<Turn> {
    const { line } = turn
    if (line.waiting.length > 0 || !this.hasRoom(line, places)) return this.wait(turn, places)
    take(turn, places)
    return turn
  }

  /** A request that is larger than all there is for its account is in progress alone. */
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

  /** In the next turn of the event loop: requests that are answered without a wait must not follow one another in this one. */
  private pumpSoon(): void {
    if (this.isPumping) return
    this.isPumping = true
    setImmediate(this.pump)
  }

  /** Gives the places of requests that are stuck to those that wait. */
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
        take(turn, places)
        admit(turn)
      }
      if (line.waiting.length === 0) this.crowded.delete(line)
    }
  }
}

function take(turn: Turn, places: number): void {
  turn.line.places += places
  turn.places = places
  turn.round = turn.line.round
}

export const tooManyOfOne = () =>
  new Refusal(429, 'Too many requests of this account wait', { 'retry-after': '1' })
