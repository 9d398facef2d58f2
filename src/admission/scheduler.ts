import { isOverloaded } from '../postgres/batch.ts'
import { tooManyRequests, unavailable } from '../responses/errors.ts'

/** An account may have at most this many requests in progress while other accounts are active. */
const sharedRequests = 16
/** An account may always have this many requests in progress, even if many accounts have waiting requests. */
const minRequests = 4
/** After requests from different accounts, the process counts as shared for this time. */
const sharedMs = 2_000
/** Limits the waiting requests of one account. A request takes one slot for each 4 KiB of its body. */
const maxWaitingSlots = 5_000
/** If no request of an account ends in this time, a dependency is probably faulty, and waiting requests may start. */
const stuckMs = 250
/** Idle queues are dropped only above this number of queues. */
const minQueues = 10_000
/** A batch of this many writes takes as much event-loop time as one separate request. */
const writesOfRequest = 32
/** The bytes of a request body that cost as much as one write. */
const bytesOfWrite = 128

export const tooManyOfAccount = () => tooManyRequests('Too many requests of this account wait')

/** The cost of reading a request body, in writes. */
export const writesIn = ({ headers }: Request): number =>
  Math.max(1, Number(headers.get('content-length')) / bytesOfWrite)

const slotsOf = (writes: number): number => Math.ceil(writes / writesOfRequest)

class AccountQueue {
  slots = 0
  waiting: { since: number; permit: Permit; slots: number; admit: (permit: Permit) => void }[] = []
  waitingSlots = 0
  /** Increases when the slots of stuck requests are freed. Slots of an earlier generation no longer count. */
  generation = 0
  /** The last end of a request (performance.now()), updated only if requests wait or no request is in progress. */
  endedAt = 0

  constructor(readonly accountId: string) {}
}

/** The permission to process a request, valid until `release`. A large batch takes several slots. */
export class Permit {
  slots = 0
  private generation = 0

  constructor(
    private readonly scheduler: Scheduler,
    readonly queue: AccountQueue,
  ) {}

  takeSlots(slots: number): void {
    this.queue.slots += slots
    this.slots = slots
    this.generation = this.queue.generation
  }

  private freeSlots(): void {
    if (this.generation === this.queue.generation) this.queue.slots -= this.slots
    this.slots = 0
  }

  /** Takes the slots that a request with this many writes needs. Rejects with 429 if too many requests wait. */
  grow(writes: number): Permit | Promise<Permit> {
    const slots = slotsOf(writes)
    if (slots <= this.slots) return this
    this.freeSlots()
    return this.scheduler.admit(this, slots)
  }

  /** Call this when the response is sent, or when the request begins to wait for events. */
  release(): void {
    if (this.slots === 0) return
    const { queue } = this
    this.freeSlots()
    if (queue.waiting.length === 0 && queue.slots > 0) return
    queue.endedAt = performance.now()
    if (queue.waiting.length > 0) this.scheduler.admitWaitingSoon()
  }
}

/** While several accounts are active, limits the requests in progress of each account. Further requests wait. */
export class Scheduler {
  private readonly queues = new Map<string, AccountQueue>()
  private readonly waitingQueues = new Set<AccountQueue>()
  private isScheduled = false
  private stuckTimer: ReturnType<typeof setInterval> | undefined
  private sweepAt = minQueues
  private lastAccountId = ''
  private sharedUntil = -Infinity

  /** Admits a request; a promise if the account has too many in progress. Rejects with 429 if too many wait. */
  acquire(accountId: string, writes = 1): Permit | Promise<Permit> {
    if (accountId !== this.lastAccountId) this.changeAccount(accountId)
    const queue = this.queues.get(accountId) ?? this.openQueue(accountId)
    return this.admit(new Permit(this, queue), slotsOf(writes))
  }

  /** Marks the process as shared by accounts if the previous account has a request in progress, or had one recently. */
  private changeAccount(accountId: string): void {
    const before = this.queues.get(this.lastAccountId)
    const now = performance.now()
    if (before && (before.slots > 0 || now - before.endedAt <= sharedMs)) this.sharedUntil = now + sharedMs
    this.lastAccountId = accountId
  }

  /** Idle queues are kept, because most accounts soon send another request, and dropped when there are many. */
  private openQueue(accountId: string): AccountQueue {
    if (this.queues.size >= this.sweepAt) {
      for (const [id, { slots, waiting }] of this.queues)
        if (slots === 0 && waiting.length === 0) this.queues.delete(id)
      this.sweepAt = Math.max(minQueues, 2 * this.queues.size)
    }
    const queue = new AccountQueue(accountId)
    this.queues.set(accountId, queue)
    return queue
  }

  isShared(): boolean {
    return performance.now() <= this.sharedUntil
  }

  admit(permit: Permit, slots: number): Permit | Promise<Permit> {
    const { queue } = permit
    if (queue.waiting.length > 0 || !this.hasRoom(queue, slots)) return this.wait(permit, slots)
    permit.takeSlots(slots)
    return permit
  }

  /** A request that needs more slots than the limit runs when no other request of its account is in progress. */
  private hasRoom(queue: AccountQueue, slots: number): boolean {
    if (queue.slots === 0 || queue.slots + slots <= minRequests) return true
    const max = Math.max(minRequests, sharedRequests / Math.max(1, this.waitingQueues.size))
    return queue.slots + slots <= max || !this.isShared()
  }

  private wait(permit: Permit, slots: number): Promise<Permit> {
    const { queue } = permit
    if (queue.slots === 0) this.admitWaitingSoon()
    if (queue.waitingSlots + slots > maxWaitingSlots) return Promise.reject(tooManyOfAccount())
    if (isOverloaded(queue.waiting)) return Promise.reject(unavailable('Too many requests wait'))
    this.waitingQueues.add(queue)
    queue.waitingSlots += slots
    this.stuckTimer ??= setInterval(this.freeStuck, stuckMs).unref()
    const since = performance.now()
    return new Promise((admit) => void queue.waiting.push({ since, permit, slots, admit }))
  }

  /** Requests start in the next event-loop iteration, so that many requests without I/O do not block the loop. */
  admitWaitingSoon(): void {
    if (this.isScheduled) return
    this.isScheduled = true
    setImmediate(this.admitWaiting)
  }

  private readonly freeStuck = (): void => {
    const since = performance.now() - stuckMs
    for (const queue of this.waitingQueues) {
      if (queue.endedAt > since || queue.waiting[0]!.since > since) continue
      queue.generation++
      queue.slots = 0
    }
    if (this.waitingQueues.size > 0) return this.admitWaitingSoon()
    clearInterval(this.stuckTimer)
    this.stuckTimer = undefined
  }

  private readonly admitWaiting = (): void => {
    this.isScheduled = false
    for (const queue of this.waitingQueues) {
      while (queue.waiting.length > 0 && this.hasRoom(queue, queue.waiting[0]!.slots)) {
        const { permit, slots, admit } = queue.waiting.shift()!
        queue.waitingSlots -= slots
        permit.takeSlots(slots)
        admit(permit)
      }
      if (queue.waiting.length === 0) this.waitingQueues.delete(queue)
    }
  }
}
