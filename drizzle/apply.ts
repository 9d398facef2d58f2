import type { MigrationMeta } from 'drizzle-orm/migrator'
import type postgres from 'postgres'

/** What Postgres does only outside a transaction, while others go on writing: it may take long on a large table. */
const concurrently = /^\s*create (?:unique )?index concurrently (?:if not exists )?"(\w+)"/i
/** So long a change of a table may hold up what others ask of it, before it is put off. */
const lockTimeoutMs = 2_000

/** After the hash of a migration whose indexes are still to be made. */
const unfinished = ' unfinished'

/** The migrations that were applied to a database, all of them. @throws when there was never one */
export async function countApplied(sql: postgres.Sql): Promise<number> {
  const [row] = await sql<{ n: number }[]>`
    select count(*)::int4 as n from drizzle.__drizzle_migrations where hash not like ${`%${unfinished}`}`
  return row!.n
}

/**
 * Applies what is missing: of each migration first all but its indexes, in one transaction, then these. Interrupted, it
 * goes on where it stopped.
 */
export async function applyMissing(sql: postgres.Sql, migrations: MigrationMeta[]): Promise<void> {
  await makeRecord(sql)
  const rows = await sql<{ hash: string; at: string }[]>`
    select hash, created_at::text as at from drizzle.__drizzle_migrations order by created_at`
  const last = Number(rows.at(-1)?.at ?? -1)
  for (const { sql: statements, hash, folderMillis } of migrations) {
    const indexes = statements.filter((statement) => concurrently.test(statement))
    const others = statements.filter((statement) => !concurrently.test(statement))
    if (folderMillis > last) {
      await change(sql, others, indexes.length > 0 ? hash + unfinished : hash, folderMillis)
    } else if (!rows.some((row) => Number(row.at) === folderMillis && row.hash.endsWith(unfinished))) continue
    for (const statement of indexes) await makeIndex(sql, statement)
    if (indexes.length > 0)
      await sql`update drizzle.__drizzle_migrations set hash = ${hash} where created_at = ${folderMillis}`
  }
}

/** Applies migrations to a database without tables, all in one transaction: there is no row that an index would wait for. */
export async function applyToEmpty(tx: postgres.TransactionSql, migrations: MigrationMeta[]): Promise<void> {
  await makeRecord(tx)
  for (const { sql: statements, hash, folderMillis } of migrations) {
    for (const statement of statements) await tx.unsafe(statement.replace(/\bconcurrently\b/i, ''))
    await note(tx, hash, folderMillis)
  }
}

async function makeRecord(sql: postgres.ISql): Promise<void> {
  await sql`create schema if not exists drizzle`
  await sql`create table if not exists drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)`
}

const note = (tx: postgres.TransactionSql, hash: string, at: number) =>
  tx`insert into drizzle.__drizzle_migrations (hash, created_at) values (${hash}, ${at})`

async function change(sql: postgres.Sql, statements: string[], hash: string, at: number): Promise<void> {
  await sql.begin(async (tx) => {
    await tx.unsafe(`set local lock_timeout = ${lockTimeoutMs}`)
    for (const statement of statements) await tx.unsafe(statement)
    await note(tx, hash, at)
  })
}

/** One that failed half-way stays behind, and is of no use. */
async function makeIndex(sql: postgres.Sql, statement: string): Promise<void> {
  const [, name = ''] = concurrently.exec(statement)!
  const [found] = await sql<{ isValid: boolean }[]>`
    select indisvalid as "isValid" from pg_index where indexrelid = to_regclass(${`"${name}"`})`
  if (found?.isValid) return
  if (found) await sql.unsafe(`drop index concurrently "${name}"`)
  await sql.unsafe(statement)
}
