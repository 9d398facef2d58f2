import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { TransactionSql } from 'postgres'
import { knownMigrations } from '../../drizzle/migrate.ts'
import { AdminError } from './command-group.ts'
import { firstLine, isDerived, last, migrationsOf, tablesOf } from './backup-format.ts'
import { inTransaction } from './backup-transaction.ts'

const blockBytes = 65_536

/**
 * @param store stores the next bytes of the backup
 * @throws AdminError, and the errors of `store`
 */
export async function writeBackup(
  databaseUrl: string,
  store: (bytes: Uint8Array) => Promise<unknown>,
): Promise<void> {
  const storeAll = async (chunks: AsyncIterable<Uint8Array>) => {
    for await (const chunk of chunks) await store(chunk)
  }
  const options = {
    mode: 'isolation level repeatable read read only',
    problem: 'No backup was written',
    isReading: true,
  }
  await inTransaction(databaseUrl, options, (tx) =>
    pipeline(Readable.from(contents(tx)), createGzip(), storeAll),
  )
}

/** @throws AdminError if this release does not know all migrations of the database */
async function* contents(tx: TransactionSql) {
  await tx.unsafe('set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0')
  const applied = await tx<{ hash: string }[]>`
    select hash from drizzle.__drizzle_migrations order by created_at`
  const hashes = applied.map(({ hash }) => hash)
  const migrations = migrationsOf(hashes, knownMigrations())
  if (!migrations)
    throw new AdminError(
      'The database belongs to another release: make the backup with the release that runs the service',
    )
  yield `${firstLine(hashes)}\n`
  for (const table of tablesOf(migrations)) {
    if (isDerived(table)) continue
    const attributes = await tx<{ name: string }[]>`
      select attname as name from pg_attribute
      where attrelid = to_regclass(${`"${table}"`}) and attnum > 0 and not attisdropped order by attnum`
    if (attributes.length === 0) continue // a later migration dropped the table
    const columns = attributes.map(({ name }) => `"${name}"`).join(', ')
    yield `COPY "${table}" (${columns}) FROM stdin;\n`
    yield* inBlocks(await tx.unsafe(`copy "${table}" (${columns}) to stdout`).readable())
    yield '\\.\n'
  }
  yield `${last}\n`
}

async function* inBlocks(rows: Readable): AsyncGenerator<Buffer> {
  let block: Buffer[] = []
  let bytes = 0
  for await (const row of rows as AsyncIterable<Buffer>) {
    block.push(row)
    bytes += row.length
    // postgres.js may pause its socket although the stream has requested data. Another request resumes the socket.
    if (rows.readableLength === 0) rows._read(0)
    if (bytes < blockBytes) continue
    yield Buffer.concat(block)
    ;[block, bytes] = [[], 0]
  }
  yield Buffer.concat(block)
}
