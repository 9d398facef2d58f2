import type { Caller } from '../identity/rights.ts'
import type { Database, Sql } from '../postgres/database.ts'
import type { Expensive } from './expensive.ts'

/** A read with at least this cost is expensive. A read of one task costs 1. */
const expensiveReads = 10

export type Charge = ReturnType<typeof openCharge>

interface Dependencies {
  database: Database
  expensive: Expensive
  budget?: { takeMore(caller: Caller, count: number): Promise<void> }
}

/** Expensive reads are queued and use a separate connection, so that plain reads do not wait for them. */
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
