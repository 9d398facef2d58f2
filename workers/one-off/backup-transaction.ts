import postgres, { type TransactionSql } from 'postgres'
import { withConnections } from '../../drizzle/migrate.ts'
import { primaryServer } from '../../src/postgres/primary.ts'
import { errorCode } from '../../src/postgres/errors.ts'
import { withoutLateEnd } from '../../src/postgres/workarounds.ts'
import { explain } from '../../src/process/database-errors.ts'
import { AdminError, notMigrated } from './command-group.ts'

interface Options {
  mode?: string
  /** The start of the message after an error of Postgres, or of its connection. */
  problem: string
  /** True if the transaction may end within a `COPY … TO`: postgres.js then cannot send ROLLBACK. */
  isReading: boolean
}

/**
 * Runs a transaction. Closes the connection instead of a rollback if postgres.js cannot send ROLLBACK.
 * @throws AdminError, also for errors of Postgres after the transaction has begun
 */
export async function inTransaction(
  databaseUrl: string,
  { mode = '', problem, isReading }: Options,
  work: (tx: TransactionSql) => Promise<unknown>,
): Promise<void> {
  const server = await primaryServer(databaseUrl)
  await withConnections(server, (sql) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    let fail = reject
    const run = (tx: TransactionSql) => {
      fail = (error) => reject(withReason(problem, error, databaseUrl))
      return work(tx).catch((error) => {
        const isAnswer = error instanceof postgres.PostgresError || error instanceof AdminError
        if (isAnswer && !isReading) throw error
        fail(error)
        return sql.end({ timeout: 0 })
      })
    }
    withoutLateEnd(sql)
      .begin(mode, run)
      .then(
        () => resolve(),
        (error) => fail(error),
      )
    return promise
  })
}

/** An error without a code is an AdminError, or a defect of this service. `admin` explains a missing migration. */
function withReason(problem: string, error: unknown, databaseUrl: string): unknown {
  const explanation = explain(error, databaseUrl)
  if (!explanation || notMigrated.includes(errorCode(error))) return error
  const { reason, advice, isFromPostgres } = explanation
  const origin = isFromPostgres ? 'Postgres reports' : 'The connection to Postgres was lost'
  return new AdminError(`${problem}. ${origin}: ${reason}. ${advice}`.trim())
}
