import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { TransactionSql } from 'postgres'
import { applyToEmpty } from '../../drizzle/apply.ts'
import { outdatedBackup } from '../../drizzle/baseline.ts'
import { tryMigrationLock, knownMigrations, migrate } from '../../drizzle/migrate.ts'
import { copyRows } from '../../src/postgres/copy.ts'
import { errorCode } from '../../src/postgres/errors.ts'
import { primaryServer } from '../../src/postgres/primary.ts'
import { BackupReader, backupDamaged, hashesIn, last, migrationsOf, tablesOf } from './backup-format.ts'
import { inTransaction } from './backup-transaction.ts'
import { AdminError } from './command-group.ts'

const lockTimeoutMs = 10_000
const lockNotAvailable = '55P03'
const deadlockDetected = '40P01'
const lockAttempts = 5

/** Errors of gunzip, and SQLSTATEs of invalid values, violated constraints, and missing tables and columns. */
const causedByContent = /^(Z_|22|23|42(?!501))/

/**
 * Restores a backup in one transaction, then applies the later migrations. After an error nothing has changed.
 * @param replaces deletes the data of a database that is not empty
 * @throws AdminError
 */
export async function restoreBackup(
  url: string,
  from: AsyncIterable<Uint8Array>,
  { replaces }: { replaces: boolean },
) {
  // BackupReader throws the errors of the file, which also end the unpacked stream.
  const unzipped = createGunzip().on('error', () => {})
  pipeline(Readable.from(from), unzipped, () => {})
  const options = { problem: 'Nothing was restored', isReading: false }
  await inTransaction(url, options, (tx) =>
    restoreIn(tx, new BackupReader(unzipped), replaces).catch((error) => {
      const isLocked = [lockNotAvailable, deadlockDetected].includes(errorCode(error))
      throw isLocked ? new AdminError('The database is in use: stop every process of Docket first') : error
    }),
  ).finally(() => unzipped.destroy())
  await migrate(await primaryServer(url))
}

async function restoreIn(tx: TransactionSql, backup: BackupReader, replaces: boolean): Promise<void> {
  await tx.unsafe(`set local statement_timeout = 0; set local lock_timeout = ${lockTimeoutMs}`)
  const hashes = hashesIn(await backup.line().catch(ignoreDamage))
  if (!hashes) throw new AdminError('The file is not a Docket backup')
  const allMigrations = knownMigrations()
  const migrations = migrationsOf(hashes, allMigrations)
  if (!migrations)
    throw new AdminError('A later release made the backup: restore the backup with that release')
  if (!migrations.some(({ sql }) => sql.length > 0)) throw new AdminError(outdatedBackup)
  if (!(await tryMigrationLock(tx)))
    throw new AdminError('A migration is running: try again when it has finished')
  await lockTables(tx, tablesOf(allMigrations))
  for (const table of tablesOf(allMigrations)) await dropTable(tx, table, replaces)
  await tx.unsafe('drop table if exists drizzle.__drizzle_migrations')
  await applyToEmpty(tx, migrations)
  await loadTables(tx, backup, tablesOf(migrations)).catch((error) => {
    ignoreDamage(error)
    throw backupDamaged()
  })
}

function ignoreDamage(error: unknown): undefined {
  if (!causedByContent.test(errorCode(error))) throw error
}

/** Tries again after a deadlock with a statement of a process that still runs. */
async function lockTables(tx: TransactionSql, tables: string[], attempt = 1): Promise<void> {
  const existing = await tx<{ name: string }[]>`
    select t.name from string_to_table(${tables.join()}, ',') t(name) where to_regclass(format('%I', t.name)) is not null`
  if (existing.length === 0) return
  const names = existing.map(({ name }) => `"${name}"`).join(', ')
  try {
    await tx.savepoint((part) => part.unsafe(`lock table ${names} in access exclusive mode`))
  } catch (error) {
    if (errorCode(error) !== deadlockDetected || attempt === lockAttempts) throw error
    await lockTables(tx, tables, attempt + 1)
  }
}

async function dropTable(tx: TransactionSql, table: string, replaces: boolean): Promise<void> {
  const [existing] = await tx`select to_regclass(${`"${table}"`}) is not null as exists`
  if (!existing?.exists) return
  const [row] = replaces ? [] : await tx.unsafe(`select from "${table}" limit 1`)
  if (row)
    throw new AdminError(
      'The database is not empty: use an empty database, or add the word replace to delete its data',
    )
  await tx.unsafe(`drop table "${table}"`)
}

async function loadTables(tx: TransactionSql, backup: BackupReader, tables: string[]): Promise<void> {
  for (let line = await backup.line(); line !== last; line = await backup.line()) {
    const block = line === undefined ? undefined : backup.block(line)
    if (!block || !tables.includes(block.table)) throw backupDamaged()
    await copyRows(tx.unsafe(block.statement), block.rows)
  }
  // Reads the checksum of the archive.
  if ((await backup.line()) !== undefined) throw backupDamaged()
}
