import { open, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import process from 'node:process'
import { pipeline as pipe, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import type { MigrationMeta } from 'drizzle-orm/migrator'
import type { TransactionSql } from 'postgres'
import {
  applyToEmpty,
  knownMigrations,
  migrate,
  tryMigrationLock,
  withConnections,
} from '../../drizzle/migrate.ts'
import { resolveForCaller } from '../../src/local/files.ts'
import { errorCode } from '../../src/postgres/errors.ts'
import { primaryServer } from '../../src/postgres/primary.ts'
import { type AdminContext, AdminError, type Commands } from './command-line.ts'

// A backup is a gzipped SQL script with a COPY for each table. psql can run it in a database with the same migrations.
// Each table is a block: a line `COPY "users" ("id", …) FROM stdin;`, the rows, and a line `\.`

const firstLine = '-- docket backup 1, migrations: '
const lastLine = '-- end of the docket backup'
const blockLine = /^COPY "(\w+)" \("\w+"(?:, "\w+")*\) FROM stdin;$/
const endOfBlock = '\\.'

export const backups: Commands = {
  'backup <file>': [
    'writes a snapshot of all data, while the service runs; - means standard output',
    writeBackup,
  ],
  'restore <file> [replace]': [
    'restores a backup into an empty database; replace deletes existing data first; - means standard input',
    restoreBackup,
  ],
}

const standard = '-'

async function writeBackup({ config }: AdminContext, file = ''): Promise<string> {
  const path = pathOf(file, 'standard output')
  const to = file === standard ? undefined : await open(path, 'wx', 0o600).catch(fileFailed(path))
  // Without a listener, an error would end the process. The callback of `write` gets the same error.
  if (!to) process.stdout.on('error', () => {})
  const store = (bytes: Uint8Array) =>
    (to?.appendFile(bytes) ?? toStandardOutput(bytes)).catch(fileFailed(path))
  try {
    await copyTo(store, config.databaseUrl)
    await to?.sync().catch(fileFailed(path))
  } catch (error) {
    if (to) await rm(path, { force: true })
    throw error
  } finally {
    await to?.close()
  }
  const secret = config.jwtSecret ? 'JWT_SECRET' : resolve(config.dataDir, 'jwt-secret')
  return to
    ? `The backup is in ${path}. Keep ${secret} too: without it, sign-in tokens and webhook secrets are lost`
    : ''
}

const pathOf = (file: string, standardName: string) =>
  file === standard ? standardName : resolveForCaller(file)

/** Closes the connection instead of a rollback, which postgres.js cannot send within a `COPY … TO`. */
const copyTo = (store: (bytes: Uint8Array) => Promise<unknown>, databaseUrl: string) =>
  withConnections(primaryServer(databaseUrl), (sql) => {
    const { promise: failed, reject } = Promise.withResolvers<never>()
    const storeAll = async (chunks: AsyncIterable<Uint8Array>) => {
      for await (const chunk of chunks) await store(chunk)
    }
    const done = sql.begin('isolation level repeatable read read only', (tx) =>
      pipeline(Readable.from(contents(tx)), createGzip(), storeAll).catch((error: unknown) => {
        reject(error)
        return sql.end({ timeout: 0 })
      }),
    )
    return Promise.race([done, failed])
  })

/** Waits until the other program has received the bytes, because the end of this process would discard the rest. */
const toStandardOutput = (bytes: Uint8Array): Promise<void> =>
  new Promise<void>((resolve, reject) =>
    process.stdout.write(bytes, (error) => (error ? reject(error) : resolve())),
  )

/** Returns a function that throws an AdminError for an error of a file or of its disk. */
const fileFailed =
  (path: string) =>
  ({ message }: Error): never => {
    throw new AdminError(`${path} or its disk cannot be used: ${message}`)
  }

/** @throws AdminError if this release does not know all migrations of the database */
async function* contents(tx: TransactionSql) {
  await tx.unsafe('set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0')
  const applied = await tx<{ hash: string }[]>`
    select hash from drizzle.__drizzle_migrations order by created_at`
  const hashes = applied.map(({ hash }) => hash)
  const migrations = migrationsOf(hashes)
  if (!migrations)
    throw new AdminError(
      'The database belongs to another release: make the backup with the release that runs the service',
    )
  yield `${firstLine}${hashes.join(' ')}\n`
  for (const table of tablesOf(migrations)) {
    if (isDerived(table)) continue
    const [row] = await tx<{ columns: string | null }[]>`
      select string_agg(format('"%s"', attname), ', ' order by attnum) as columns from pg_attribute
      where attrelid = to_regclass(${`"${table}"`}) and attnum > 0 and not attisdropped`
    const columns = row!.columns
    if (columns === null) continue // a later migration dropped the table
    yield `COPY "${table}" (${columns}) FROM stdin;\n`
    yield* inChunks(await tx.unsafe(`copy "${table}" (${columns}) to stdout`).readable())
    yield `${endOfBlock}\n`
  }
  yield `${lastLine}\n`
}

/** Returns the migrations with these hashes, or undefined if this release knows others. */
function migrationsOf(hashes: string[]): MigrationMeta[] | undefined {
  const applied = knownMigrations().slice(0, hashes.length)
  const areSame = hashes.length > 0 && hashes.every((hash, n) => applied[n]?.hash === hash)
  return areSame ? applied : undefined
}

/** Tables of the search index. A restored service fills these tables again. */
export const isDerived = (table: string): boolean => /^search(_|$)/.test(table)

export const tablesOf = (migrations: MigrationMeta[]): string[] =>
  migrations.flatMap(({ sql }) =>
    sql.flatMap((statement) => /^\s*create table "(\w+)"/i.exec(statement)?.[1] ?? []),
  )

const chunkBytes = 65_536

async function* inChunks(rows: Readable): AsyncGenerator<Buffer> {
  let [chunk, bytes]: [Buffer[], number] = [[], 0]
  for await (const row of rows as AsyncIterable<Buffer>) {
    chunk.push(row)
    bytes += row.length
    // postgres.js may pause its socket although the stream has requested data. Another request resumes the socket.
    if (rows.readableLength === 0) rows._read(0)
    if (bytes < chunkBytes) continue
    yield Buffer.concat(chunk)
    ;[chunk, bytes] = [[], 0]
  }
  yield Buffer.concat(chunk)
}

const lockTimeoutMs = 10_000
/** SQLSTATEs of a lock that was not available and of a deadlock. */
const locked = ['55P03', '40P01']

/** Restores a backup in one transaction, then applies the later migrations. After an error nothing has changed. */
async function restoreBackup(
  { config: { databaseUrl } }: AdminContext,
  file = '',
  replace = '',
): Promise<string> {
  if (replace && replace !== 'replace')
    throw new AdminError(`"${replace}" must be the word replace or be left out`)
  // `linesIn` throws the errors of the file, which also end the unpacked stream.
  const unzipped = createGunzip().on('error', () => {})
  pipe(Readable.from(contentOf(file)), unzipped, () => {})
  await withConnections(primaryServer(databaseUrl), (sql) =>
    sql.begin((tx) => restoreIn(tx, linesIn(unzipped), replace !== '')),
  )
    .catch((error) => {
      if (!locked.includes(errorCode(error))) throw error
      throw new AdminError('The database is in use: stop every process of Docket first')
    })
    .finally(() => unzipped.destroy())
  await migrate(primaryServer(databaseUrl))
  return 'The backup is restored'
}

async function* contentOf(file: string): AsyncGenerator<Uint8Array, void, void> {
  const path = pathOf(file, 'standard input')
  try {
    yield* file === standard ? process.stdin : (await open(path)).createReadStream()
  } catch (error) {
    fileFailed(path)(error as Error)
  }
}

async function restoreIn(tx: TransactionSql, lines: Lines, replaces: boolean): Promise<void> {
  await tx.unsafe(`set local statement_timeout = 0; set local lock_timeout = ${lockTimeoutMs}`)
  const first = await nextOf(lines).catch(asDamage)
  if (!first.startsWith(firstLine)) throw new AdminError('The file is not a Docket backup')
  const migrations = migrationsOf(first.slice(firstLine.length).split(' '))
  if (!migrations?.some(({ sql }) => sql.length > 0))
    throw new AdminError('Another release made the backup: restore the backup with that release')
  if (!(await tryMigrationLock(tx)))
    throw new AdminError('A migration is running: try again when it has finished')
  await dropTables(tx, replaces)
  await applyToEmpty(tx, migrations)
  await loadTables(tx, lines, tablesOf(migrations)).catch(asDamage)
}

/** Errors of gunzip, and SQLSTATEs of invalid values, violated constraints, and missing tables and columns. */
const causedByContent = /^(Z_|22|23|42(?!501))/

function asDamage(error: unknown): never {
  throw causedByContent.test(errorCode(error)) ? damaged() : error
}

const damaged = () => new AdminError('The backup is damaged or incomplete: nothing was restored')

async function dropTables(tx: TransactionSql, replaces: boolean): Promise<void> {
  const existing = await tx<{ name: string }[]>`
    select name from unnest(string_to_array(${tablesOf(knownMigrations()).join()}, ',')) t(name)
    where to_regclass(name) is not null`
  const names = existing.map(({ name }) => name)
  if (names.length > 0) await tx.unsafe(`lock table ${names.join(', ')} in access exclusive mode`)
  for (const name of replaces ? [] : names)
    if ((await tx.unsafe(`select from ${name} limit 1`)).length > 0)
      throw new AdminError(
        'The database is not empty: use an empty database, or add the word replace to delete its data',
      )
  for (const name of [...names, 'drizzle.__drizzle_migrations'])
    await tx.unsafe(`drop table if exists ${name}`)
}

async function loadTables(tx: TransactionSql, lines: Lines, tables: string[]): Promise<void> {
  for (let line = await nextOf(lines); line !== lastLine; line = await nextOf(lines)) {
    const [statement, table] = blockLine.exec(line) ?? []
    if (!statement || !tables.includes(table!)) throw damaged()
    await pipeline(rowsIn(lines), await tx.unsafe(statement).writable())
  }
  // Reads the checksum of the archive.
  if (!(await lines.next()).done) throw damaged()
}

async function* rowsIn(lines: Lines): AsyncGenerator<Buffer> {
  let rows = ''
  for (let line = await nextOf(lines); line !== endOfBlock; line = await nextOf(lines)) {
    rows += `${line}\n`
    if (rows.length < chunkBytes) continue
    yield Buffer.from(rows, 'latin1')
    rows = ''
  }
  yield Buffer.from(rows, 'latin1')
}

type Lines = AsyncGenerator<string>

/** Decodes bytes as Latin 1, because a chunk may end within a character. */
async function* linesIn(chunks: AsyncIterable<Buffer>): Lines {
  let rest = ''
  for await (const chunk of chunks) {
    const lines = (rest + chunk.toString('latin1')).split('\n')
    rest = lines.pop()!
    yield* lines
  }
  if (rest) yield rest
}

async function nextOf(lines: Lines): Promise<string> {
  const { done, value } = await lines.next()
  if (done) throw damaged()
  return value
}
