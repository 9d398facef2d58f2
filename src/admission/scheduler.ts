import { Refusal } from '../wire/refusals.ts'
import { isOverloaded } from '../postgres/overload.ts'

/** Requests of one account in progress at once, while other accounts send requests too. */
const sharedRequests = 16
/** The same for each of many accounts whose requests wait. */
const fewestRequests = 4
/** For so long after a request of another account, a process counts as shared. */
const sharedMs = 10_000
/** Requests of one account that may wait, at most: each keeps a few KiB. */
const waitingRequests = 5_000

interface Waiting {
  since: number
  admit: (turn: Turn) => void
}

/** One account's requests in this process. */
interface Line {
  accountId: string
  inProgress: number
  waiting: Waiting[]
}

/** A request in progress, until it ends. */
export class Turn {
  private isOver = false

  constructor(
    private readonly scheduler: Scheduler,
    private readonly line: Line,
  ) {}

  /** The request is answered, or waits for something that costs nothing: others may go on. */
  end(): void {
    if (this.isOver) return
    this.isOver = true
    this.scheduler.leave(this.line)
  }
}

/**
 * Lets accounts take turns. A request's latency grows with the requests in progress beside it, so an account may have few
 * in progress while a process serves others too; its other requests wait. An account that is alone is never held up.
 */
export class Scheduler {
  private readonly lines = new Map<string, Line>()
  /** Lines in which requests wait. */
  private readonly crowded = new Set<Line>()
  private isPumping = false
  private lastAccountId = ''
  private sharedUntil = -Infinity

  /** Admits a request: at once, unless too many of the same account are in progress. Rejects with 429 when too many wait. */
  enter(accountId: string): Turn | Promise<Turn> {
    if (accountId !== this.lastAccountId) this.see(accountId)
    const line = this.lineOf(accountId)
    if (line.waiting.length > 0 || (line.inProgress >= fewestRequests && !this.hasRoom(line)))
      return this.wait(line)
    line.inProgress++
    return new Turn(this, line)
  }

  leave(line: Line): void {
    line.inProgress--
    if (line.waiting.length > 0) this.pumpSoon()
    else if (line.inProgress === 0) this.lines.delete(line.accountId)
  }

  private see(accountId: string): void {
    if (this.lastAccountId !== '') this.sharedUntil = performance.now() + sharedMs
    this.lastAccountId = accountId
  }

  private lineOf(accountId: string): Line {
    let line = this.lines.get(accountId)
    if (!line) this.lines.set(accountId, (line = { accountId, inProgress: 0, waiting: [] }))
    return line
  }

  private hasRoom({ inProgress }: Line): boolean {
    const most = Math.max(fewestRequests, sharedRequests / Math.max(1, this.crowded.size))
    return inProgress < most || performance.now() > this.sharedUntil
  }

  private wait(line: Line): Promise<Turn> {
    const { waiting } = line
    if (waiting.length >= waitingRequests || isOverloaded(waiting)) return Promise.reject(tooManyOfOne())
    this.crowded.add(line)
    return new Promise((admit) => void waiting.push({ since: performance.now(), admit }))
  }

  /** In the next turn of the event loop: requests that are answered without any wait must not follow one another in this one. */
  private pumpSoon(): void {
    if (this.isPumping) return
    this.isPumping = true
    setImmediate(this.pump)
  }

  private readonly pump = (): void => {
    this.isPumping = false
    for (const line of this.crowded) {
      while (line.waiting.length > 0 && this.hasRoom(line)) {
        line.inProgress++
        line.waiting.shift()!.admit(new Turn(this, line))
      }
      if (line.waiting.length === 0) this.crowded.delete(line)
    }
  }
}

export const tooManyOfOne = () =>
  new Refusal(429, 'Too many requests of this account wait', { 'retry-after': '1' })
