import type { Caller } from '../identity/rights.ts'
import type { Database, Sql } from '../postgres/database.ts'
import type { Expensive } from './expensive.ts'

/** Reads that cost as much as this many plain ones are expensive: about half a millisecond of Postgres. */
const expensiveReads = 10

export type Spend = ReturnType<typeof openSpend>

interface Means {
  database: Database
  expensive: Expensive
  /** The caller's budget of reads; undefined when there is no limit. */
  budget?: { takeMore(caller: Caller, count: number): Promise<void> }
}

/**
 * Runs a read that costs as much as many plain ones: takes them from the caller's budget. An expensive read waits for its
 * turn, and has a connection of its own, so that no plain read waits behind it.
 * @param cost in plain reads
 * @throws HttpError 429 when the budget is used up or too many expensive reads of the account are in progress, 503
 */
export const openSpend =
  ({ database, expensive, budget }: Means) =>
  async <T>(caller: Caller, cost: number, work: (sql: Sql) => PromiseLike<T>): Promise<T> => {
    const isExpensive = cost >= expensiveReads
    const paid = async () => {
      if (cost > 1) await budget?.takeMore(caller, Math.floor(cost) - 1)
      return work(isExpensive ? database.expensive : database.reads)
    }
    return isExpensive ? expensive.run(caller.userId, paid) : paid()
  }
