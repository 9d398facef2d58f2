import { unavailable } from '../responses/errors.ts'
import { openConcurrencyLimit } from './concurrency-limit.ts'
import { RoundRobin } from './round-robin.ts'
import type { Scheduler } from './scheduler.ts'

/** Expensive operations of all accounts in progress at once. */
const ofAll = 1_000
/** A request that has waited longer is rejected: its answer would come too late. */
const patienceMs = 10_000

/** While a process is shared, an account pauses after an expensive operation for this many times its duration. */
const pauseRatio = 4
const mostPauseMs = 500

/**
 * Runs expensive operations one after another, so that plain requests wait for one of them at most; accounts take turns.
 * The limit of an account counts operations that wait too. A pause of one account delays no other account.
 */
export class Expensive {
  private readonly limit: ReturnType<typeof openConcurrencyLimit>
  private readonly waiting = new RoundRobin<{
    since: number
    start: () => void
    reject: (error: Error) => void
  }>()
  private isBusy = false
  private pause: { accountId: string; timer: ReturnType<typeof setTimeout> } | undefined

  constructor(
    ofAccount: number,
    private readonly scheduler: Pick<Scheduler, 'isShared'>,
  ) {
    this.limit = openConcurrencyLimit({ what: 'expensive requests', ofAll, ofAccount })
  }

  /** @throws HttpError 429 when too many of the account are in progress, 503 */
  async run<T>(accountId: string, work: () => PromiseLike<T>): Promise<T> {
    const release = this.limit.acquire(accountId)
    try {
      if (this.isBusy && !this.endsPause(accountId)) {
        const since = performance.now()
        await new Promise<void>((start, reject) => this.waiting.add(accountId, { since, start, reject }))
      }
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

  private readonly startNext = (): void => {
    this.pause = undefined
    for (let next = this.waiting.next(); next; next = this.waiting.next()) {
      if (performance.now() - next.since < patienceMs) return next.start()
      next.reject(unavailable('Too many expensive requests wait'))
    }
    this.isBusy = false
  }
}
