import { fileURLToPath } from 'node:url'
import { drizzle } from 'drizzle-orm/postgres-js'
import { migrate as applyAll } from 'drizzle-orm/postgres-js/migrator'
import { readMigrationFiles } from 'drizzle-orm/migrator'
import postgres from 'postgres'

const migrationsFolder = fileURLToPath(new URL('./migrations', import.meta.url))
const lockKey = 0x646f636b // "dock"

/** Applies what is missing. Several may start at once: an advisory lock lets one work and the others find it done. */
export async function migrate(databaseUrl: string): Promise<void> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {}, connect_timeout: 10 })
  try {
    await sql`select pg_advisory_lock(${lockKey})`
    await applyAll(drizzle(sql), { migrationsFolder })
  } finally {
    await sql.end({ timeout: 5 })
  }
}

/** The number of migrations this build knows; as many must stand in the database before it is ready. */
export const migrationCount = (): number => readMigrationFiles({ migrationsFolder }).length
