import { unavailable } from '../responses/errors.ts'
import { openConcurrencyLimit } from './concurrency-limit.ts'
import { RoundRobin } from './round-robin.ts'
import type { Scheduler } from './scheduler.ts'

type Waiter = { since: number; start: () => void; reject: (error: Error) => void }

/** At most this many expensive operations run or wait, of all accounts together. */
const ofAll = 1_000
const maxWaitMs = 10_000

/** While other accounts are active, an account pauses after an operation: 4 times as long as the operation took. */
const pauseRatio = 4
const maxPauseMs = 500

/** Runs expensive operations one at a time, so that other requests wait for at most one. Accounts alternate. */
export class Expensive {
  private readonly limit: ReturnType<typeof openConcurrencyLimit>
  private readonly waiting = new RoundRobin<Waiter>()
  private isBusy = false
  private pause: { accountId: string; timer: ReturnType<typeof setTimeout> } | undefined

  constructor(
    ofAccount: number,
    private readonly scheduler: Pick<Scheduler, 'isShared'>,
  ) {
    this.limit = openConcurrencyLimit({ what: 'expensive requests', ofAll, ofAccount })
  }

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
        this.startNextLater(accountId, performance.now() - began)
      }
    } finally {
      release()
    }
  }

  private startNextLater(accountId: string, tookMs: number): void {
    // setImmediate lets requests that arrived during this operation start before the next operation.
    if (this.waiting.hasOther(accountId) || !this.scheduler.isShared())
      return void setImmediate(this.startNext)
    const timer = setTimeout(this.startNext, Math.min(maxPauseMs, pauseRatio * tookMs))
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
      if (performance.now() - next.since < maxWaitMs) return next.start()
      next.reject(unavailable('Too many expensive requests wait'))
    }
    this.isBusy = false
  }
}
