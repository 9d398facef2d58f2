import { randomBytes } from 'node:crypto'
import postgres from 'postgres'

const attempts = 50
const retryMs = 100

export interface FreshDatabase {
  url: string
  drop(): Promise<void>
}

/** Makes a migrated, empty database of a test file's own. */
export async function freshDatabase(): Promise<FreshDatabase> {
  const name = `t_${randomBytes(8).toString('hex')}`
  await asAdmin((sql) => createFromTemplate(sql, name))
  const url = new URL(adminUrl())
  url.pathname = name
  return {
    url: url.href,
    drop: () => asAdmin(async (sql) => void (await sql`drop database if exists ${sql(name)} with (force)`)),
  }
}

async function createFromTemplate(sql: postgres.Sql, name: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await sql`create database ${sql(name)} template docket_template`
      return
    } catch (error) {
      // Something, for instance autovacuum, is looking at the template.
      const isBusy = error instanceof postgres.PostgresError && error.code === '55006'
      if (!isBusy || attempt === attempts) throw error
      await Bun.sleep(retryMs)
    }
  }
}

async function asAdmin<T>(work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(adminUrl(), { max: 1, fetch_types: false, onnotice: () => {} })
  return work(sql).finally(() => sql.end({ timeout: 1 }))
}

function adminUrl(): string {
  const url = process.env.TEST_DATABASE_URL
  if (!url) throw new Error('TEST_DATABASE_URL is not set: run the tests with `bun run test`.')
  return url
}
