import { setImmediate as nextIteration } from 'node:timers/promises'
import type { Database, Sql } from '../postgres/database.ts'
import { unavailable } from '../responses/errors.ts'
import { openConcurrencyLimit, FairQueue, type Scheduler } from './fair-queue.ts'

/** At most this many expensive operations run or wait. */
const maxOperations = { ofAll: 1_000, ofAccount: 4 }
const maxWaitMs = 10_000

/** While other accounts are active, an account pauses after an operation: 4 times as long as the operation took. */
const pauseRatio = 4
const maxPauseMs = 500

const oneAtATime = { whose: 'of this account', slots: 1, slotsOfKey: 1 }

/** Runs expensive operations one at a time, so that other requests wait for at most one. Accounts take turns. */
export class Expensive {
  private readonly limit = openConcurrencyLimit({ what: 'expensive requests', ...maxOperations })
  private readonly queue = new FairQueue({ what: 'expensive requests', ...oneAtATime })

  constructor(private readonly scheduler: Pick<Scheduler, 'isShared'>) {}

  async run<T>(accountId: string, work: () => PromiseLike<T>): Promise<T> {
    const leave = this.limit.acquire(accountId)
    try {
      const since = performance.now()
      const permit = await this.queue.acquire(accountId)
      const began = performance.now()
      try {
        if (began - since > maxWaitMs) throw unavailable('Too many expensive requests wait')
        return await work()
      } finally {
        const pauseMs = Math.min(maxPauseMs, pauseRatio * (performance.now() - began))
        permit.release(this.scheduler.isShared() ? pauseMs : 0)
      }
    } finally {
      leave()
    }
  }
}

/** A read with at least this cost is expensive. A read of one task costs 1. */
const expensiveReads = 10

interface Account {
  userId: string
}

export type Charge = ReturnType<typeof openCharge>

/**
 * Expensive reads are queued and use a separate connection, so that plain reads do not wait for them. With `costOf`, the
 * cost is known only after the work, and `cost` is its maximum.
 */
export function openCharge(
  database: Database,
  expensive: Expensive,
  budget?: { takeMore(caller: Account, count: number): Promise<void> },
) {
  const take = async (caller: Account, reads: number) => {
    if (reads >= 2) await budget?.takeMore(caller, Math.floor(reads) - 1)
  }
  return async <T>(
    caller: Account,
    cost: number,
    work: (sql: Sql) => PromiseLike<T>,
    costOf?: (result: T) => number,
  ): Promise<T> => {
    const isExpensive = cost >= expensiveReads
    const paid = async () => {
      if (!costOf) await take(caller, cost)
      const result = await work(isExpensive ? database.expensive : database.reads)
      if (costOf) await take(caller, costOf(result))
      return result
    }
    return isExpensive ? expensive.run(caller.userId, paid) : paid()
  }
}

const iterations = new FairQueue({ what: 'messages', ...oneAtATime })

/**
 * Waits for an iteration of the event loop in which no other caller works. An MCP message takes 0.2 ms, a response that
 * a tool reads 1 to 10 ms, ten hits of a search 5 ms: between them the event loop serves other requests. Accounts take
 * turns, so that an account with much work delays only its own work.
 */
export async function ownIteration(account: string): Promise<void> {
  await nextIteration()
  const permit = await iterations.acquire(account)
  setImmediate(() => permit.release())
}
