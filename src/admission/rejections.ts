import { setTimeout as sleep } from 'node:timers/promises'
import type { Scheduler } from './scheduler.ts'

/** Rejections of one account, and of all requests without an account, that are answered at once in one window. */
const promptRejections = 20
const windowMs = 20
/** A rejection after them waits, on average, or a client that does not pause would keep a process busy with rejections. */
const delayMs = 300
const mostDelayMs = 1_000
/** A rejection counts once more, and waits longer, for each so many bytes of the request's body. */
const bytesOfRejection = 8_192

/** Delays the rejections of a client that sends many requests to reject, while others send requests too. */
export class Rejections {
  private readonly counts = new Map<string, number>()
  private endsAt = 0

  constructor(private readonly scheduler: Pick<Scheduler, 'isShared'>) {}

  /** Returns the same response, at once or later. */
  pace(request: Request, response: Response, accountId = ''): Response | Promise<Response> {
    const weight = 1 + Number(request.headers.get('content-length')) / bytesOfRejection
    const before = this.count(accountId, weight)
    if (before < promptRejections || (accountId !== '' && !this.scheduler.isShared())) return response
    // A body that nothing reads would be kept in memory until the response.
    if (!request.bodyUsed) request.body?.cancel().catch(() => {})
    const jitter = 0.5 + Math.random() // for those of many connections not to come back together
    return sleep(Math.min(mostDelayMs, delayMs * weight) * jitter, response)
  }

  /** Counts a rejection, and returns the count of its window before it. */
  private count(accountId: string, weight: number): number {
    const now = performance.now()
    if (now > this.endsAt) {
      this.counts.clear()
      this.endsAt = now + windowMs
    }
    const before = this.counts.get(accountId) ?? 0
    this.counts.set(accountId, before + weight)
    return before
  }
}
