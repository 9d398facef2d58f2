import postgres from 'postgres'
import { migrate, withConnections } from '../../drizzle/migrate.ts'
import { startLocal } from '../../src/local/start.ts'

const templateDatabase = 'docket_template'

export type TestServers = Awaited<ReturnType<typeof startServers>>

export async function startServers(dataDir: string) {
  const local = await startLocal({ dataDir, postgres: true, redis: true, log: logInstallation })
  try {
    if (local.withoutRedis) throw new Error(local.withoutRedis)
    const adminUrl = withDatabase(local.databaseUrl!, 'postgres')
    await prepareTemplate(adminUrl)
    const env = { TEST_DATABASE_URL: adminUrl, TEST_REDIS_URL: local.redisUrl!, TEST_DATA_DIR: dataDir }
    return { env, stop: () => local.stop() }
  } catch (error) {
    await local.stop().catch(console.error)
    throw error
  }
}

async function prepareTemplate(adminUrl: string): Promise<void> {
  const sql = postgres(adminUrl, { max: 1, fetch_types: false, onnotice: () => {} })
  try {
    await sql`create database ${sql(templateDatabase)}`
    // Adds the database to every log line.
    await sql`alter system set log_line_prefix = '%m [%p] %q%d '`
    // Without fsync only a crash of the machine can lose commits, not a crash of Postgres.
    for (const name of ['fsync', 'full_page_writes']) await sql.unsafe(`alter system set ${name} = off`)
    await sql`select pg_reload_conf()`
    const url = withDatabase(adminUrl, templateDatabase)
    await migrate(url)
    // The first connection after a migration stores the catalog cache in a file, which copies of the database then have.
    await withConnections(url, (template) => template`select 1`)
    // A database with connected sessions cannot be copied.
    await sql`alter database ${sql(templateDatabase)} with is_template true allow_connections false`
  } finally {
    await sql.end({ timeout: 5 })
  }
}

function withDatabase(databaseUrl: string, name: string): string {
  const url = new URL(databaseUrl)
  url.pathname = name
  return url.href
}

function logInstallation(message: string): void {
  if (message.startsWith('Redis is missing')) console.error(message)
}
