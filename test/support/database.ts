import { randomBytes } from 'node:crypto'
import postgres from 'postgres'
import { eventually } from '../races/pair.ts'

const attempts = 50
const retryMs = 100

export async function freshDatabase(template = 'docket_template') {
  const name = `t_${process.pid}_${randomBytes(8).toString('hex')}`
  const sql = (admin ??= postgres(adminUrl(), { max: 1, fetch_types: false, onnotice: () => {} }))
  await createFromTemplate(sql, name, template)
  return {
    url: Object.assign(new URL(adminUrl()), { pathname: name }).href,
    drop: async () => void (await sql`drop database if exists ${sql(name)} with (force)`),
  }
}

let admin: postgres.Sql | undefined

/** Deletes all rows. The rows of the migrations are in another schema. */
export async function emptyTables(sql: postgres.Sql): Promise<void> {
  const tables = await sql<{ name: string }[]>`
    select format('%I', tablename) as name from pg_tables where schemaname = 'public'`
  await sql.unsafe(tables.map(({ name }) => `delete from ${name}`).join(';'))
}

async function createFromTemplate(sql: postgres.Sql, name: string, template: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      // Copies the files, which takes less than half the time of the default strategy.
      await sql`create database ${sql(name)} template ${sql(template)} strategy file_copy`
      return
    } catch (error) {
      // Another connection, for instance autovacuum, uses the template database.
      const isBusy = error instanceof postgres.PostgresError && error.code === '55006'
      if (!isBusy || attempt === attempts) throw error
      await Bun.sleep(retryMs)
    }
  }
}

function adminUrl(): string {
  const url = process.env.TEST_DATABASE_URL
  if (!url) throw new Error('TEST_DATABASE_URL is not set: run the tests with `bun run test`.')
  return url
}

/** Opens a transaction, runs `work` in it, and returns a function that commits it. */
export async function holdTransaction(
  sql: postgres.Sql,
  work: (tx: postgres.TransactionSql) => Promise<unknown>,
): Promise<() => Promise<void>> {
  const [isOpen, commit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const ended = sql.begin(async (tx) => {
    await work(tx)
    isOpen.resolve()
    await commit.promise
  })
  await Promise.race([isOpen.promise, ended])
  return async () => {
    commit.resolve()
    await ended
  }
}

export const untilBlocked = (sql: postgres.Sql, count = 1, like = '%') =>
  eventually(`${count} blocked statements`, async () => {
    const waiting = await sql`select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like ${like}`
    return waiting.length === count
  })

export const terminateConnections = (sql: postgres.Sql) => sql`
  select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and application_name = 'docket'`

/** Returns how many rows of a table a transaction has read. */
export async function rowsRead(tx: postgres.ISql, table: string): Promise<number> {
  const [read] = await tx<{ rows: number }[]>`
    select (coalesce(idx_tup_fetch, 0) + seq_tup_read)::int4 as rows
    from pg_stat_xact_user_tables where relname = ${table}`
  return read!.rows
}
