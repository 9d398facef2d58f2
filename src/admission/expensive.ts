import { setTimeout as sleep } from 'node:timers/promises'
import { unavailable } from '../wire/refusals.ts'
import { openConcurrencyLimit } from './concurrency-limit.ts'
import { RoundRobin } from './round-robin.ts'

/** Expensive operations of all accounts in progress at once. */
const ofAll = 1_000
/** A request that has waited longer is rejected: its answer would come too late. */
const patienceMs = 10_000

/** A rejection takes so long, or clients that do not wait for Retry-After would keep a process busy with rejections. */
const rejectMs = 100

interface Waiting {
  since: number
  start: () => void
  reject: (error: Error) => void
}

/**
 * Runs expensive operations one after another, so that plain requests wait for one of them at most, with turns for the
 * accounts that wait. The limit of an account counts operations that wait too.
 */
export class Expensive {
  private readonly limit: ReturnType<typeof openConcurrencyLimit>
  private readonly waiting = new RoundRobin<Waiting>()
  private isBusy = false

  constructor(ofAccount: number) {
    this.limit = openConcurrencyLimit({ what: 'expensive requests', ofAll, ofAccount })
  }

  /** @throws Refusal 429 when too many of the account are in progress, 503 */
  async run<T>(accountId: string, work: () => PromiseLike<T>): Promise<T> {
    const release = await this.acquire(accountId)
    try {
      if (this.isBusy) await this.wait(accountId)
      this.isBusy = true
      try {
        return await work()
      } finally {
        setImmediate(this.startNext) // what arrived meanwhile goes first
      }
    } finally {
      release()
    }
  }

  private async acquire(accountId: string): Promise<() => void> {
    try {
      return this.limit.acquire(accountId)
    } catch (error) {
      await sleep(rejectMs)
      throw error
    }
  }

  private wait(accountId: string): Promise<void> {
    const since = performance.now()
    return new Promise((start, reject) => this.waiting.add(accountId, { since, start, reject }))
  }

  private readonly startNext = (): void => {
    for (let next = this.waiting.next(); next; next = this.waiting.next()) {
      if (performance.now() - next.since < patienceMs) return next.start()
      next.reject(unavailable('Too many expensive requests wait'))
    }
    this.isBusy = false
  }
}
