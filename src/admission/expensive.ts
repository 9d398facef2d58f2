import { unavailable } from '../wire/refusals.ts'
import { openConcurrencyLimit } from './concurrency-limit.ts'
import { RoundRobin } from './round-robin.ts'
import type { Scheduler } from './scheduler.ts'

/** Expensive operations of all accounts in progress at once. */
const ofAll = 1_000
/** A request that has waited longer is rejected: its answer would come too late. */
const patienceMs = 10_000

/** While a process is shared, an account pauses after an expensive operation for so many times as long as it took. */
const pauseRatio = 4
const mostPauseMs = 500

interface Waiting {
  since: number
  start: () => void
  reject: (error: Error) => void
}

/**
 * Runs expensive operations one after another, so that plain requests wait for one of them at most, with turns for the
 * accounts that wait. The limit of an account counts operations that wait too. Another account waits for no pause.
 */
export class Expensive {
  private readonly limit: ReturnType<typeof openConcurrencyLimit>
  private readonly waiting = new RoundRobin<Waiting>()
  private isBusy = false
  private pause: { accountId: string; timer: ReturnType<typeof setTimeout> } | undefined

  constructor(
    ofAccount: number,
    private readonly scheduler: Pick<Scheduler, 'isShared'>,
  ) {
    this.limit = openConcurrencyLimit({ what: 'expensive requests', ofAll, ofAccount })
  }

  /** @throws Refusal 429 when too many of the account are in progress, 503 */
  async run<T>(accountId: string, work: () => PromiseLike<T>): Promise<T> {
    const release = this.limit.acquire(accountId)
    try {
      if (this.isBusy && !this.endsPause(accountId)) await this.wait(accountId)
      this.isBusy = true
      const began = performance.now()
      try {
        return await work()
      } finally {
        this.goOn(accountId, performance.now() - began)
      }
    } finally {
      release()
    }
  }

  private goOn(accountId: string, tookMs: number): void {
    // What arrived meanwhile goes first.
    if (this.waiting.hasOther(accountId) || !this.scheduler.isShared())
      return void setImmediate(this.startNext)
    const timer = setTimeout(this.startNext, Math.min(mostPauseMs, pauseRatio * tookMs))
    this.pause = { accountId, timer }
  }

  private endsPause(accountId: string): boolean {
    if (!this.pause || this.pause.accountId === accountId) return false
    clearTimeout(this.pause.timer)
    this.pause = undefined
    return true
  }

  private wait(accountId: string): Promise<void> {
    const since = performance.now()
    return new Promise((start, reject) => this.waiting.add(accountId, { since, start, reject }))
  }

  private readonly startNext = (): void => {
    this.pause = undefined
    for (let next = this.waiting.next(); next; next = this.waiting.next()) {
      if (performance.now() - next.since < patienceMs) return next.start()
      next.reject(unavailable('Too many expensive requests wait'))
    }
    this.isBusy = false
  }
}
