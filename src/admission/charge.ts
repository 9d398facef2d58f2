import type { Caller } from '../identity/rights.ts'
import type { Database, Sql } from '../postgres/database.ts'
import type { Expensive } from './expensive.ts'

/** A read of one task costs 1. A read that costs this much or more is expensive. */
const expensiveReads = 10

export type Charge = ReturnType<typeof openCharge>

interface Dependencies {
  database: Database
  expensive: Expensive
  /** The caller's budget of reads; undefined when there is no limit. */
  budget?: { takeMore(caller: Caller, count: number): Promise<void> }
}

/**
 * Runs a read and subtracts its cost from the caller's budget. Expensive reads are queued and use a separate
 * connection, so that plain reads do not wait for them.
 * @param cost in plain reads
 * @throws HttpError 429 if the budget is used up or too many expensive reads of the account run or wait; 503 if too
 * many do in total
 */
export const openCharge =
  ({ database, expensive, budget }: Dependencies) =>
  async <T>(caller: Caller, cost: number, work: (sql: Sql) => PromiseLike<T>): Promise<T> => {
    const isExpensive = cost >= expensiveReads
    const paid = async () => {
      if (cost > 1) await budget?.takeMore(caller, Math.floor(cost) - 1)
      return work(isExpensive ? database.expensive : database.reads)
    }
    return isExpensive ? expensive.run(caller.userId, paid) : paid()
  }
