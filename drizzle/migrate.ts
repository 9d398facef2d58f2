import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { readMigrationFiles } from 'drizzle-orm/migrator'
import postgres from 'postgres'
import { applyMissing, countApplied } from './apply.ts'

const migrationsFolder = fileURLToPath(new URL('./migrations', import.meta.url))
const lockKey = 0x646f636b // "dock"
const undefinedTable = '42P01'

/**
 * Applies what is missing. Several may start at once: one works, and the others find it done. The lock is held by a
 * transaction, so that a pooler holds it as well; and it is asked for, not waited for, each time in a transaction of its
 * own, because an index that is made beside other work waits for all that were just asking something to end theirs.
 */
export const migrate = (databaseUrl: string): Promise<void> =>
  withConnections(databaseUrl, async (sql) => {
    while (!(await hasMigrated(sql))) await sleep(100)
  })

/** All migrations that this build knows, in order. */
export const knownMigrations = () => readMigrationFiles({ migrationsFolder })

/** False when somebody else is at it. */
const hasMigrated = (sql: postgres.Sql): Promise<boolean> =>
  sql.begin(async (lock) => {
    await lock.unsafe('set local idle_in_transaction_session_timeout = 0')
    if (!(await isTaken(lock))) return false
    await applyMissing(sql, knownMigrations())
    return true
  })

/** Takes the lock of migrations until the transaction ends. Without parameters: a query that has some keeps its view of the database, which indexes wait for too. */
export async function isTaken(lock: postgres.TransactionSql): Promise<boolean> {
  const [row] = await lock.unsafe<{ taken: boolean }[]>(
    `select pg_try_advisory_xact_lock(${lockKey}) as taken`,
  )
  return row!.taken
}

/** Whether the database has all migrations that this build knows. */
export const isMigrated = (databaseUrl: string): Promise<boolean> =>
  withConnections(databaseUrl, async (sql) => (await appliedIn(sql)) >= migrationCount())

/** The number of migrations that were applied to a database. */
export const appliedIn = (sql: postgres.Sql): Promise<number> =>
  countApplied(sql).catch((error: { code?: string }) => {
    if (error.code === undefinedTable) return 0
    throw error
  })

/** The number of migrations this build knows; as many must stand in the database before it is ready. */
export const migrationCount = (): number => knownMigrations().length

/** Works on up to two connections to a database, and closes them. */
export async function withConnections<T>(
  databaseUrl: string,
  work: (sql: postgres.Sql) => Promise<T>,
): Promise<T> {
  // Without named statements, for there may be a pooler.
  const options = { max: 2, prepare: false, onnotice: () => {}, connect_timeout: 5, fetch_types: false }
  const sql = postgres(databaseUrl, options)
  return work(sql).finally(() => sql.end({ timeout: 5 }))
}
