import { setTimeout as sleep } from 'node:timers/promises'
import { isOverloaded } from '../postgres/grouped.ts'
import { type HttpError, tooManyRequests, unavailable } from '../responses/errors.ts'

/** Idle lines are dropped only above this number of lines, because most keys soon return. */
const maxIdleLines = 10_000

interface Bounds {
  /** The words of a message such as "Too many requests of this account wait". */
  what: string
  whose: string
  /** The maximum number of slots in progress: of all keys together, and of one key. */
  slots: number
  slotsOfKey: number
  /** The maximum number of slots that wait: of all keys together, and of one key. */
  waiting?: number
  waitingOfKey?: number
  /** Rejects new entries of a key whose entries wait for more than half a second, if more than 128 entries wait. */
  rejectsWhenSlow?: boolean
  /** If no entry of a key ends in this time, a dependency is probably faulty, and waiting entries of the key start. */
  stuckMs?: number
}

interface Entry {
  since: number
  slots: number
  admit(permit: Permit): void
  reject(error: Error): void
}

/** The entries of one key. */
class Line {
  slotsInProgress = 0
  readonly waiting: Entry[] = []
  waitingSlots = 0
  /** The last end of an entry (performance.now()), updated only if entries wait or no entry is in progress. */
  endedAt = -Infinity

  constructor(readonly key: string) {}
}

/** The permission to start, valid until `release`. Large work takes several slots. */
export class Permit {
  private isReleased = false

  constructor(
    private readonly queue: FairQueue,
    private readonly line: Line,
    readonly slots: number,
  ) {
    line.slotsInProgress += slots
    queue.inProgress += slots
  }

  /** Frees the slots. During the pause, other keys may use the slots, but this key may not. */
  release(pauseMs = 0): void {
    if (this.isReleased) return
    const { slots, line, queue } = this
    this.isReleased = true
    queue.inProgress -= slots
    if (pauseMs === 0) return queue.end(line, slots)
    setTimeout(() => queue.end(line, slots), pauseMs)
    queue.admitSoon()
  }
}

/**
 * Admits entries up to a number of slots. Keys with waiting entries take turns, so a key with many entries delays only its
 * own entries.
 */
export class FairQueue {
  inProgress = 0
  private readonly lines = new Map<string, Line>()
  /** The keys with waiting entries. The first key is next, and then moves behind the other keys. */
  private readonly waiting = new Set<Line>()
  private waitingSlots = 0
  private isScheduled = false
  private stuckTimer: ReturnType<typeof setInterval> | undefined

  constructor(private readonly bounds: Bounds) {}

  /** @throws HttpError 429 if too many entries of the key wait; 503 if too many entries wait, or wait too long */
  acquire(key: string, slots = 1): Permit | Promise<Permit> {
    return this.admit(this.lineOf(key), slots)
  }

  async run<T>(key: string, work: () => PromiseLike<T>): Promise<T> {
    const permit = await this.acquire(key)
    try {
      return await work()
    } finally {
      permit.release()
    }
  }

  protected admit(line: Line, slots: number): Permit | Promise<Permit> {
    const mustWait = this.bounds.slots === Infinity ? line.waiting.length > 0 : this.waiting.size > 0
    return mustWait || !this.hasRoom(line, slots) ? this.wait(line, slots) : new Permit(this, line, slots)
  }

  /** Entries start in the next event-loop iteration, so that many entries without I/O do not block the loop. */
  admitSoon(): void {
    if (this.isScheduled || this.waiting.size === 0) return
    this.isScheduled = true
    setImmediate(this.admitWaiting)
  }

  end(line: Line, slots: number): void {
    // Stuck entries have lost their slots before they end, so their end may free slots of later entries.
    line.slotsInProgress = Math.max(0, line.slotsInProgress - slots)
    if (line.slotsInProgress === 0 || line.waiting.length > 0) line.endedAt = performance.now()
    this.dropIdle(line)
    this.admitSoon()
  }

  private dropIdle(line: Line): void {
    const isIdle = line.slotsInProgress === 0 && line.waiting.length === 0
    if (isIdle && this.lines.size > maxIdleLines) this.lines.delete(line.key)
  }

  protected lineOf(key: string): Line {
    let line = this.lines.get(key)
    if (!line) this.lines.set(key, (line = new Line(key)))
    return line
  }

  /** The maximum number of slots in progress of one key, while this number of keys wait. */
  protected slotsOfKey(_waitingKeys: number): number {
    return this.bounds.slotsOfKey
  }

  /** An entry that needs more slots than the limit runs when no other entry of its key is in progress. */
  private hasRoom({ slotsInProgress: used }: Line, slots: number): boolean {
    if (this.inProgress > 0 && this.inProgress + slots > this.bounds.slots) return false
    return used === 0 || used + slots <= this.slotsOfKey(this.waiting.size)
  }

  private wait(line: Line, slots: number): Promise<Permit> {
    const { what, whose, waitingOfKey = Infinity, rejectsWhenSlow, stuckMs } = this.bounds
    const isFullOfKey = line.waitingSlots + slots > waitingOfKey
    if (isFullOfKey || (rejectsWhenSlow && isOverloaded(line.waiting)) || !this.makeRoom(line, slots)) {
      this.dropIdle(line)
      const error = isFullOfKey ? tooManyRequests(`Too many ${what} ${whose} wait`) : this.overloaded()
      return Promise.reject(error)
    }
    line.waitingSlots += slots
    this.waitingSlots += slots
    this.waiting.add(line)
    if (stuckMs) this.stuckTimer ??= setInterval(() => this.freeStuck(stuckMs), stuckMs).unref()
    this.admitSoon()
    const since = performance.now()
    return new Promise((admit, reject) => void line.waiting.push({ since, slots, admit, reject }))
  }

  /** If the queue is full, rejects the last entry of the key with the most waiting slots, unless `line` has as many. */
  private makeRoom(line: Line, slots: number): boolean {
    const { waiting: max = Infinity } = this.bounds
    if (this.waitingSlots + slots <= max) return true
    const longest = [...this.waiting].reduce((a, b) => (b.waitingSlots > a.waitingSlots ? b : a))
    if (longest.waitingSlots <= line.waitingSlots + slots) return false
    this.remove(longest, longest.waiting.pop()!).reject(this.overloaded())
    return true
  }

  private readonly admitWaiting = (): void => {
    this.isScheduled = false
    // `remove` may move the key behind the others. The loop then visits the key again.
    for (const line of this.waiting) {
      if (this.inProgress >= this.bounds.slots) return
      if (!this.hasRoom(line, line.waiting[0]!.slots)) continue
      const { slots, admit } = this.remove(line, line.waiting.shift()!)
      admit(new Permit(this, line, slots))
    }
  }

  /** Subtracts the slots of an entry that waits no longer, and moves its key behind the others. */
  private remove(line: Line, entry: Entry): Entry {
    line.waitingSlots -= entry.slots
    this.waitingSlots -= entry.slots
    this.waiting.delete(line)
    if (line.waiting.length > 0) this.waiting.add(line)
    return entry
  }

  private freeStuck(stuckMs: number): void {
    const since = performance.now() - stuckMs
    for (const line of this.waiting)
      if (line.endedAt <= since && line.waiting[0]!.since <= since) line.slotsInProgress = 0
    if (this.waiting.size > 0) return this.admitSoon()
    clearInterval(this.stuckTimer)
    this.stuckTimer = undefined
  }

  private overloaded() {
    return unavailable(`Too many ${this.bounds.what} wait`)
  }
}

/** An account may have at most this many requests in progress while other accounts are active. */
const sharedRequests = 16
/** An account may always have this many requests in progress, even if many accounts have waiting requests. */
const minRequests = 4
/** After requests from different accounts, the process counts as shared for this time. */
const sharedMs = 2_000
/** A batch of this many writes takes as much event-loop time as one separate request. */
const writesOfRequest = 32
/** The bytes of a request body that cost as much as one write. */
const bytesOfWrite = 128
/** While several accounts are active, a rejection keeps its slots longer, because many clients retry immediately. */
const rejectionMs = 20
/** The delay of a rejection without a permit if too many of them wait. */
const overflowMs = 1_000

export const tooManyOfAccount = () => tooManyRequests('Too many requests of this account wait')

/** The cost of reading a request body, in writes. */
export const writesIn = ({ headers }: Request): number =>
  Math.max(1, Number(headers.get('content-length')) / bytesOfWrite || 0)

export const slotsForWrites = (writes: number): number => Math.ceil(writes / writesOfRequest)

/** While several accounts are active, limits the requests in progress of each account. Further requests wait. */
export class Scheduler extends FairQueue {
  /** Delays the rejections of unknown callers, and of callers whose requests are not admitted. */
  private readonly anonymous = new FairQueue({
    ...{ what: 'rejections', whose: 'of unknown callers', slots: Infinity, slotsOfKey: sharedRequests },
    ...{ waitingOfKey: 5_000, rejectsWhenSlow: true },
  })
  private last: Line | undefined
  private sharedUntil = -Infinity

  constructor() {
    super({
      ...{ what: 'requests', whose: 'of this account', slots: Infinity, slotsOfKey: sharedRequests },
      ...{ waitingOfKey: 5_000, rejectsWhenSlow: true, stuckMs: 250 },
    })
  }

  override acquire(accountId: string, writes = 1): Permit | Promise<Permit> {
    const line = this.lineOf(accountId)
    if (accountId !== this.last?.key) this.changeAccount()
    this.last = line
    return this.admit(line, slotsForWrites(writes))
  }

  /** Sends the response to a rejected request, and then pauses its slots. Rejections without a permit may wait for slots. */
  reject(request: Request, response: Response, permit?: Permit): Response | Promise<Response> {
    if (permit) permit.release(this.isShared() ? rejectionMs : 0)
    else {
      const own = this.anonymous.acquire('', slotsForWrites(writesIn(request)))
      if (own instanceof Promise) return this.rejectLater(request, response, own)
      own.release(rejectionMs)
    }
    return response
  }

  private async rejectLater(request: Request, response: Response, own: Promise<Permit>): Promise<Response> {
    // An unread body would stay in memory until the response is sent.
    if (!request.bodyUsed) request.body?.cancel().catch(() => {})
    const permit = await own.catch(() => sleep(overflowMs))
    permit?.release(rejectionMs)
    return response
  }

  isShared(): boolean {
    return performance.now() <= this.sharedUntil
  }

  protected override slotsOfKey(waitingKeys: number): number {
    if (!this.isShared()) return Infinity
    return Math.max(minRequests, sharedRequests / Math.max(1, waitingKeys))
  }

  /** Marks the process as shared by accounts if the previous account has a request in progress, or had one recently. */
  private changeAccount(): void {
    const now = performance.now()
    if (this.last && (this.last.slotsInProgress > 0 || now - this.last.endedAt <= sharedMs))
      this.sharedUntil = now + sharedMs
  }
}

/** @param what the name of the operations */
export const concurrencyErrors = (what: string): [ofAccount: HttpError, ofAll: HttpError] => [
  tooManyRequests(`Too many ${what} of this account are in progress`),
  unavailable(`Too many ${what} are in progress; try again later`),
]

/** Limits the operations in progress in this process: in total, and for each account with all its tokens. */
export function openConcurrencyLimit(limit: { what: string; ofAll: number; ofAccount: number }) {
  const [tooManyOfAccount, tooManyOfAll] = concurrencyErrors(limit.what)
  const acquired = new Map<string, number>()
  let all = 0
  return {
    acquire(accountId: string, count = 1): () => void {
      const own = acquired.get(accountId) ?? 0
      if (own + count > limit.ofAccount) throw tooManyOfAccount
      if (all + count > limit.ofAll) throw tooManyOfAll
      acquired.set(accountId, own + count)
      all += count
      return () => {
        all -= count
        const left = acquired.get(accountId)! - count
        if (left > 0) acquired.set(accountId, left)
        else acquired.delete(accountId)
      }
    },
    inProgress: () => all,
  }
}
