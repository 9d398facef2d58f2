import { setTimeout as sleep } from 'node:timers/promises'
import { tooManyRequests } from '../responses/errors.ts'
import { FairQueue, type Permit } from './fair-queue.ts'

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
  private lastAccountId = ''
  private sharedUntil = -Infinity

  constructor() {
    super({
      ...{ what: 'requests', whose: 'of this account', slots: Infinity, slotsOfKey: sharedRequests },
      ...{ waitingOfKey: 5_000, rejectsWhenSlow: true, stuckMs: 250 },
    })
  }

  override acquire(accountId: string, writes = 1): Permit | Promise<Permit> {
    if (accountId !== this.lastAccountId) this.changeAccount(accountId)
    return super.acquire(accountId, slotsForWrites(writes))
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
  private changeAccount(accountId: string): void {
    const before = this.lines.get(this.lastAccountId)
    const now = performance.now()
    if (before && (before.inProgress.slots > 0 || now - before.endedAt <= sharedMs))
      this.sharedUntil = now + sharedMs
    this.lastAccountId = accountId
  }
}
