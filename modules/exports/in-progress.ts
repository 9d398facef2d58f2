import { concurrencyErrors, openConcurrencyLimit } from '../../src/admission/concurrency-limit.ts'
import { maxExports } from '../../src/postgres/database.ts'
import { unavailable } from '../../src/responses/errors.ts'
import type { Caller } from '../../src/identity/rights.ts'
import type { Services } from '../../src/services.ts'

const what = 'exports'
/** The most exports of a process whose clients receive the file. */
const maxDownloads = 64
/** How long an export waits before its response begins, and how long between the projects of an account. */
export const firstWaitMs = 10_000
export const nextWaitMs = 120_000

interface Waiter {
  start(): void
  timer: ReturnType<typeof setTimeout>
}

/** Places for reading the database. Waiting exports get a place in the order of their arrival. */
export class Places {
  private taken = 0
  private waiting: Waiter[] = []

  constructor(private readonly count: number) {}

  get isWanted(): boolean {
    return this.waiting.length > 0
  }

  /** Returns a function that frees the place. @throws HttpError 503 if no place is free within `maxMs` */
  async take(maxMs: number): Promise<() => void> {
    if (this.taken < this.count) this.taken++
    else await this.wait(maxMs)
    let isFree = false
    return () => {
      if (!isFree) this.free()
      isFree = true
    }
  }

  private wait(maxMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        this.waiting = this.waiting.filter((one) => one !== waiter)
        reject(unavailable('Too many exports are in progress; try again later'))
      }
      const waiter = { start: resolve, timer: setTimeout(giveUp, maxMs) }
      this.waiting.push(waiter)
    })
  }

  private free(): void {
    const next = this.waiting.shift()
    if (!next) return void this.taken--
    clearTimeout(next.timer)
    next.start()
  }
}

export type ExportsInProgress = ReturnType<typeof openExportsInProgress>

/**
 * An export needs a place only while it reads the database. Its client may receive the file for longer, and then counts
 * as a download.
 */
export const openExportsInProgress = () => ({
  places: new Places(maxExports),
  downloads: openConcurrencyLimit({ what, ofAll: maxDownloads, ofAccount: 1 }),
  errors: concurrencyErrors(what),
})

/** This number of rows counts as one read, as in a page of a list. */
const rowsPerRead = 200
/** This number of reversed events counts as one read, as in other reads with `asOf`. */
const eventsPerRead = 25

export const exportCost = (rows: number, reversedEvents = 0): number =>
  1 + Math.ceil(rows / rowsPerRead + reversedEvents / eventsPerRead)

/** An export that exceeds the remaining budget still runs, and empties it. @throws HttpError 429 for an empty budget */
export async function charge(
  { limits }: Pick<Services, 'limits'>,
  caller: Caller,
  cost: number,
): Promise<void> {
  if (cost > 1) await limits.budgets?.reads.takeMore(caller, cost - 1)
}
