import { setTimeout as sleep } from 'node:timers/promises'
import type { Scheduler } from './scheduler.ts'

/** In each window, this many rejections of an account, or of requests without an account, are sent without delay. */
const promptRejections = 20
const windowMs = 20
/** The average delay of further rejections. Clients that retry immediately could otherwise keep a process busy. */
const delayMs = 300
const maxDelayMs = 1_000
/** Each 8 KiB of the request's body counts as one more rejection. */
const bytesOfRejection = 8_192

/** Delays the error responses to a client that causes many errors, unless its account is the only active account. */
export class Rejections {
  private readonly counts = new Map<string, number>()
  private endsAt = 0

  constructor(private readonly scheduler: Pick<Scheduler, 'isShared'>) {}

  delay(request: Request, response: Response, accountId = ''): Response | Promise<Response> {
    const weight = 1 + Number(request.headers.get('content-length')) / bytesOfRejection
    const before = this.count(accountId, weight)
    if (before < promptRejections || (accountId !== '' && !this.scheduler.isShared())) return response
    // An unread body would stay in memory until the response is sent.
    if (!request.bodyUsed) request.body?.cancel().catch(() => {})
    // Random, so that many clients do not retry together.
    const jitter = 0.5 + Math.random()
    return sleep(Math.min(maxDelayMs, delayMs * weight) * jitter, response)
  }

  /** Returns the count of the current window before this rejection. */
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
