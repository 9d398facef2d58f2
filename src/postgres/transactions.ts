import type { Sql, TransactionSql } from 'postgres'
import { markUnknownOutcome } from './errors.ts'

type Begin = Sql['begin']
type Work = (tx: TransactionSql) => unknown
/** Begins a time limit, and returns a function that ends it. */
type BeginLimit = (fail: (error: Error) => void) => () => void

/** Limits the times of BEGIN and of COMMIT or ROLLBACK, which postgres.js sends. `track` limits other statements. */
export function limitTransactions(
  begin: Begin,
  beginLimit: BeginLimit,
  track: (tx: TransactionSql, isOver: () => boolean) => TransactionSql,
): Begin {
  const limited = (...args: [Work] | [string, Work]) => {
    const work = args.pop() as Work
    return new Promise((resolve, reject) => {
      let [isOver, isEnding] = [false, false]
      let thrown: unknown
      const fail = (error: Error) => {
        isOver = true
        reject(error)
      }
      let endLimit = beginLimit(fail)
      const run = async (tx: TransactionSql) => {
        endLimit()
        // BEGIN waited for a connection until after its limit.
        if (isOver) throw new Error('The transaction began too late')
        try {
          return await work(track(tx, () => isOver))
        } catch (error) {
          thrown = error
          throw error
        } finally {
          isEnding = true
          endLimit = beginLimit(fail)
        }
      }
      const end = (error: unknown) => {
        isOver = true
        if (error !== thrown) markUnknownOutcome(error, isEnding)
        reject(error)
      }
      void begin(args.join(''), run)
        .then(resolve, end)
        .finally(() => endLimit())
    })
  }
  return limited as Begin
}
