import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator'
import postgres from 'postgres'
import replaced from './migrations/replaced.json' with { type: 'json' }

const migrationsFolder = fileURLToPath(new URL('./migrations', import.meta.url))
const lockKey = 0x646f636b // "dock"
const concurrently = /^\s*create (?:unique )?index concurrently (?:if not exists )?"(\w+)"/i
/** Other queries wait behind a schema change that waits for a lock, so a migration fails after this time. */
const lockTimeoutMs = 2_000
/** Suffix of the stored hash while the indexes of a migration are missing. */
const unfinished = ' unfinished'
const undefinedTable = '42P01'
const lastReplaced = replaced.at(-1)!

/** A URL, or a URL with the options of postgres.js. */
type Server = string | { url: string; options: { ssl: false } }

/**
 * One of several concurrent processes applies the migrations; the others wait. The lock belongs to a transaction,
 * because connection poolers do not keep sessions. A waiting process tries the lock in a new transaction each time,
 * because creating a concurrent index waits for the end of all open transactions.
 */
export const migrate = (server: Server): Promise<void> =>
  withConnections(server, async (sql) => {
    const tryMigrate = async (lock: postgres.TransactionSql): Promise<boolean> => {
      await lock.unsafe('set local idle_in_transaction_session_timeout = 0')
      if (!(await tryMigrationLock(lock))) return false
      await applyMissing(sql, knownMigrations())
      return true
    }
    while (!(await sql.begin(tryMigrate))) await sleep(100)
  })

/** A query with parameters opens a snapshot, and creating a concurrent index waits for open snapshots. */
export async function tryMigrationLock(lock: postgres.TransactionSql): Promise<boolean> {
  const [row] = await lock.unsafe<{ taken: boolean }[]>(
    `select pg_try_advisory_xact_lock(${lockKey}) as taken`,
  )
  return row!.taken
}

/**
 * Returns the migrations 0000 to 0024, which the baseline replaces, before the later ones. The last replaced migration
 * has the statements of the baseline. A database that begins with the baseline records all of them, because earlier
 * releases count the recorded migrations, and backups name them.
 */
export function knownMigrations(): MigrationMeta[] {
  const [baseline, ...later] = readMigrationFiles({ migrationsFolder })
  const recorded = replaced.map((one) => ({
    ...one,
    sql: one === lastReplaced ? baseline!.sql : [],
    bps: true,
  }))
  return [...recorded, ...later]
}

export const isMigrated = async (sql: postgres.Sql): Promise<boolean> =>
  (await countApplied(sql)) >= knownMigrations().length

export async function countApplied(sql: postgres.Sql): Promise<number> {
  const rows = sql`select from drizzle.__drizzle_migrations where hash not like ${`%${unfinished}`}`
  return rows.then(
    ({ length }) => length,
    (error: { code?: string }) => {
      if (error.code === undefinedTable) return 0
      throw error
    },
  )
}

/** Creates concurrent indexes after the transaction of their migration. A repeated call continues after a failure. */
export async function applyMissing(sql: postgres.Sql, migrations: MigrationMeta[]): Promise<void> {
  await createMigrationsTable(sql)
  const rows = await sql<{ hash: string; at: string }[]>`
    select hash, created_at::text as at from drizzle.__drizzle_migrations order by created_at`
  if (rows.length === 0) return sql.begin((tx) => applyToEmpty(tx, migrations))
  const last = Number(rows.at(-1)!.at)
  if (last < lastReplaced.folderMillis)
    throw new Error(
      'The database of DATABASE_URL has the tables of an earlier release: run "npm run migrate" with the release of commit 240b63a2, then with this release',
    )
  for (const { sql: statements, hash, folderMillis } of migrations) {
    const indexes = statements.filter((statement) => concurrently.test(statement))
    const others = statements.filter((statement) => !concurrently.test(statement))
    if (folderMillis > last) {
      await sql.begin(async (tx) => {
        await tx.unsafe(`set local lock_timeout = ${lockTimeoutMs}`)
        for (const statement of others) await tx.unsafe(statement)
        await insertMigration(tx, indexes.length > 0 ? hash + unfinished : hash, folderMillis)
      })
    } else if (!rows.some((row) => Number(row.at) === folderMillis && row.hash.endsWith(unfinished))) continue
    for (const statement of indexes) await createIndex(sql, statement)
    if (indexes.length > 0)
      await sql`update drizzle.__drizzle_migrations set hash = ${hash} where created_at = ${folderMillis}`
  }
}

export async function applyToEmpty(tx: postgres.TransactionSql, migrations: MigrationMeta[]): Promise<void> {
  await createMigrationsTable(tx)
  for (const { sql: statements, hash, folderMillis } of migrations) {
    for (const statement of statements) await tx.unsafe(statement.replace(/\bconcurrently\b/i, ''))
    await insertMigration(tx, hash, folderMillis)
  }
}

async function createMigrationsTable(sql: postgres.ISql): Promise<void> {
  await sql`create schema if not exists drizzle`
  await sql`create table if not exists drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)`
}

const insertMigration = (tx: postgres.TransactionSql, hash: string, at: number) =>
  tx`insert into drizzle.__drizzle_migrations (hash, created_at) values (${hash}, ${at})`

/** A failed concurrent creation leaves an invalid index, which is dropped first. */
async function createIndex(sql: postgres.Sql, statement: string): Promise<void> {
  const [, name = ''] = concurrently.exec(statement)!
  await sql.unsafe(`drop index concurrently if exists "${name}"`)
  await sql.unsafe(statement)
}

export async function withConnections<T>(
  server: Server,
  work: (sql: postgres.Sql) => Promise<T>,
): Promise<T> {
  const { url, options = {} } = typeof server === 'string' ? { url: server } : server
  // Connection poolers do not support named statements.
  const own = { max: 2, prepare: false, onnotice: () => {}, connect_timeout: 5, fetch_types: false }
  const sql = postgres(url, { ...options, ...own })
  return work(sql).finally(() => sql.end({ timeout: 5 }))
}
