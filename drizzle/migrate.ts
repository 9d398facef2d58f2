import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { readMigrationFiles } from 'drizzle-orm/migrator'
import postgres from 'postgres'
import { applyMissing, countApplied, withReplaced } from './apply.ts'

const migrationsFolder = fileURLToPath(new URL('./migrations', import.meta.url))
const lockKey = 0x646f636b // "dock"

/** A URL, or a URL with the options of postgres.js. */
type Server = string | { url: string; options: { ssl: false } }

/**
 * One of several concurrent processes applies the migrations; the others wait. The lock belongs to a transaction,
 * because connection poolers do not keep sessions. A waiting process tries the lock in a new transaction each time,
 * because creating a concurrent index waits for the end of all open transactions.
 */
export const migrate = (server: Server): Promise<void> =>
  withConnections(server, async (sql) => {
    while (!(await tryMigrate(sql))) await sleep(100)
  })

export const knownMigrations = () => withReplaced(readMigrationFiles({ migrationsFolder }))

const tryMigrate = (sql: postgres.Sql): Promise<boolean> =>
  sql.begin(async (lock) => {
    await lock.unsafe('set local idle_in_transaction_session_timeout = 0')
    if (!(await tryMigrationLock(lock))) return false
    await applyMissing(sql, knownMigrations())
    return true
  })

/** A query with parameters opens a snapshot, and creating a concurrent index waits for open snapshots. */
export async function tryMigrationLock(lock: postgres.TransactionSql): Promise<boolean> {
  const [row] = await lock.unsafe<{ taken: boolean }[]>(
    `select pg_try_advisory_xact_lock(${lockKey}) as taken`,
  )
  return row!.taken
}

export const isMigrated = (server: Server): Promise<boolean> =>
  withConnections(server, async (sql) => (await countApplied(sql)) >= knownMigrations().length)

export async function withConnections<T>(
  server: Server,
  work: (sql: postgres.Sql) => Promise<T>,
): Promise<T> {
  // Connection poolers do not support named statements.
  const options = { max: 2, prepare: false, onnotice: () => {}, connect_timeout: 5, fetch_types: false }
  const sql =
    typeof server === 'string'
      ? postgres(server, options)
      : postgres(server.url, { ...server.options, ...options })
  return work(sql).finally(() => sql.end({ timeout: 5 }))
}
