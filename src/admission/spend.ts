import type { Caller } from '../identity/rights.ts'
import type { Database, Sql } from '../postgres/database.ts'
import type { Expensive } from './expensive.ts'

/** Reads that cost as much as this many plain ones are expensive: about half a millisecond of Postgres. */
const expensiveReads = 10

/**
 * Runs a read that costs as much as many plain ones: takes them from the caller's budget, and when it is expensive runs it
 * in its turn and on a connection of its own, for no plain read to wait behind it.
 * @param cost in plain reads
 * @throws Refusal 429 when the budget is used up or too many expensive reads of the account are in progress, 503
 */
export type Spend = <T>(caller: Caller, cost: number, work: (sql: Sql) => PromiseLike<T>) => Promise<T>

interface Means {
  database: Database
  expensive: Expensive
  useMore(caller: Caller, kind: 'reads', count: number): Promise<void>
}

export function openSpend({ database, expensive, useMore }: Means): Spend {
  return async (caller, cost, work) => {
    const isExpensive = cost >= expensiveReads
    const paid = async () => {
      if (cost > 1) await useMore(caller, 'reads', Math.floor(cost) - 1)
      return work(isExpensive ? database.expensive : database.reads)
    }
    return isExpensive ? expensive.run(caller.userId, paid) : paid()
  }
}
