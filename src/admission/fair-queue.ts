import { isOverloaded } from '../postgres/grouped.ts'
import { tooManyRequests, unavailable } from '../responses/errors.ts'

/** Idle lines are dropped only above this number of lines, because most keys soon return. */
const minLines = 10_000

interface Bounds {
  /** For messages: "Too many requests of this account wait". */
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
  permit: Permit
  admit(permit: Permit): void
  reject(error: Error): void
}

/** The entries of one key. */
class Line {
  /** Replaced when the slots of stuck entries are freed, so that the end of these entries frees no other slots. */
  inProgress = { slots: 0 }
  readonly waiting: Entry[] = []
  waitingSlots = 0
  /** The last end of an entry (performance.now()), updated only if entries wait or no entry is in progress. */
  endedAt = -Infinity
}

/** The permission to start, valid until `release`. Large work takes several slots. */
export class Permit {
  slots = 0
  private counted = { slots: 0 }

  constructor(
    private readonly queue: FairQueue,
    readonly line: Line,
  ) {}

  take(slots: number): void {
    this.slots = slots
    this.counted = this.line.inProgress
    this.counted.slots += slots
    this.queue.inProgress += slots
  }

  /** Gives the permit this number of slots in total. Waits until the slots are free. */
  grow(slots: number): Permit | Promise<Permit> {
    if (slots <= this.slots) return this
    this.release()
    return this.queue.admit(this, slots)
  }

  /** Frees the slots. During the pause, other keys may use the slots, but this key may not. */
  release(pauseMs = 0): void {
    if (this.slots === 0) return
    const { slots, counted, line, queue } = this
    this.slots = 0
    queue.inProgress -= slots
    if (pauseMs === 0) return queue.end(line, counted, slots)
    setTimeout(() => queue.end(line, counted, slots), pauseMs)
    queue.admitSoon()
  }
}

/**
 * Admits entries up to a number of slots. Keys with waiting entries take turns, so a key with many entries delays only its
 * own entries.
 */
export class FairQueue {
  inProgress = 0
  protected readonly lines = new Map<string, Line>()
  /** The keys with waiting entries. The first key is next, and then moves behind the other keys. */
  private readonly waiting = new Set<Line>()
  private waitingSlots = 0
  private isScheduled = false
  private stuckTimer: ReturnType<typeof setInterval> | undefined
  private sweepAt = minLines

  constructor(private readonly bounds: Bounds) {}

  /** @throws HttpError 429 if too many entries of the key wait; 503 if too many entries wait, or wait too long */
  acquire(key: string, slots = 1): Permit | Promise<Permit> {
    const line = this.lines.get(key) ?? this.openLine(key)
    return this.admit(new Permit(this, line), slots)
  }

  async run<T>(key: string, work: () => PromiseLike<T>): Promise<T> {
    const permit = await this.acquire(key)
    try {
      return await work()
    } finally {
      permit.release()
    }
  }

  admit(permit: Permit, slots: number): Permit | Promise<Permit> {
    const mustWait = this.bounds.slots === Infinity ? permit.line.waiting.length > 0 : this.waiting.size > 0
    if (mustWait || !this.hasRoom(permit.line, slots)) return this.wait(permit, slots)
    permit.take(slots)
    return permit
  }

  /** Entries start in the next event-loop iteration, so that many entries without I/O do not block the loop. */
  admitSoon(): void {
    if (this.isScheduled || this.waiting.size === 0) return
    this.isScheduled = true
    setImmediate(this.admitWaiting)
  }

  end(line: Line, counted: Line['inProgress'], slots: number): void {
    counted.slots -= slots
    if (counted.slots === 0 || line.waiting.length > 0) line.endedAt = performance.now()
    this.admitSoon()
  }

  /** The maximum number of slots in progress of one key, while this number of keys wait. */
  protected slotsOfKey(_waitingKeys: number): number {
    return this.bounds.slotsOfKey
  }

  /** An entry that needs more slots than the limit runs when no other entry of its key is in progress. */
  private hasRoom({ inProgress: { slots: used } }: Line, slots: number): boolean {
    if (this.inProgress > 0 && this.inProgress + slots > this.bounds.slots) return false
    return used === 0 || used + slots <= this.slotsOfKey(this.waiting.size)
  }

  private openLine(key: string): Line {
    if (this.lines.size >= this.sweepAt) {
      for (const [key, { inProgress, waiting }] of this.lines)
        if (inProgress.slots === 0 && waiting.length === 0) this.lines.delete(key)
      this.sweepAt = Math.max(minLines, 2 * this.lines.size)
    }
    const line = new Line()
    this.lines.set(key, line)
    return line
  }

  private wait(permit: Permit, slots: number): Promise<Permit> {
    const { line } = permit
    const { what, whose, waitingOfKey = Infinity, rejectsWhenSlow, stuckMs } = this.bounds
    if (line.waitingSlots + slots > waitingOfKey)
      return Promise.reject(tooManyRequests(`Too many ${what} ${whose} wait`))
    if ((rejectsWhenSlow && isOverloaded(line.waiting)) || !this.makeRoom(line, slots))
      return Promise.reject(this.overloaded())
    line.waitingSlots += slots
    this.waitingSlots += slots
    this.waiting.add(line)
    if (stuckMs) this.stuckTimer ??= setInterval(() => this.freeStuck(stuckMs), stuckMs).unref()
    this.admitSoon()
    const since = performance.now()
    return new Promise((admit, reject) => void line.waiting.push({ since, slots, permit, admit, reject }))
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
      const { permit, slots, admit } = this.remove(line, line.waiting.shift()!)
      permit.take(slots)
      admit(permit)
    }
  }

  /** Moves the key behind the others. */
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
      if (line.endedAt <= since && line.waiting[0]!.since <= since) line.inProgress = { slots: 0 }
    if (this.waiting.size > 0) return this.admitSoon()
    clearInterval(this.stuckTimer)
    this.stuckTimer = undefined
  }

  private overloaded() {
    return unavailable(`Too many ${this.bounds.what} wait`)
  }
}
