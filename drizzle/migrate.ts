import { fileURLToPath } from 'node:url'
import { drizzle } from 'drizzle-orm/postgres-js'
import { migrate as applyAll } from 'drizzle-orm/postgres-js/migrator'
import { readMigrationFiles } from 'drizzle-orm/migrator'
import postgres from 'postgres'

const migrationsFolder = fileURLToPath(new URL('./migrations', import.meta.url))
const lockKey = 0x646f636b // "dock"
const undefinedTable = '42P01'

/** Applies what is missing. Several may start at once: an advisory lock lets one work and the others find it done. */
export const migrate = (databaseUrl: string): Promise<void> =>
  withConnection(databaseUrl, async (sql) => {
    await sql`select pg_advisory_lock(${lockKey})`
    await applyAll(drizzle(sql), { migrationsFolder })
  })

/** Whether the database has all migrations that this build knows. */
export const isMigrated = (databaseUrl: string): Promise<boolean> =>
  withConnection(databaseUrl, async (sql) => (await appliedIn(sql)) >= migrationCount())

/** The number of migrations that were applied to a database. */
export async function appliedIn(sql: postgres.Sql): Promise<number> {
  const rows = await sql<{ n: number }[]>`
    select count(*)::int4 as n from drizzle.__drizzle_migrations`.catch((error: { code?: string }) => {
    if (error.code === undefinedTable) return []
    throw error
  })
  return rows[0]?.n ?? 0
}

/** The number of migrations this build knows; as many must stand in the database before it is ready. */
export const migrationCount = (): number => readMigrationFiles({ migrationsFolder }).length

async function withConnection<T>(databaseUrl: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {}, connect_timeout: 5, fetch_types: false })
  return work(sql).finally(() => sql.end({ timeout: 5 }))
}
