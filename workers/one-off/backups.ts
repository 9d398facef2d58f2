import { open, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import process from 'node:process'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { TransactionSql } from 'postgres'
import { knownMigrations } from '../../drizzle/migrate.ts'
import { resolveForCaller } from '../../src/local/environment.ts'
import { firstLine, isDerived, last, migrationsOf, tablesOf } from './backup-format.ts'
import { inTransaction } from './backup-transaction.ts'
import { type AdminContext, type CommandGroup, AdminError } from './command-group.ts'
import { restoreBackup } from './restore.ts'

const standard = '-'

export const backup: CommandGroup = {
  '': ['<file>', 'writes a snapshot of all data, while the service runs; - means standard output', write],
}

async function write({ config }: AdminContext, file = ''): Promise<string> {
  if (file === standard) {
    // Without a listener, an error would end the process. The callback of `write` gets the same error.
    process.stdout.on('error', () => {})
    await writeBackup(config.databaseUrl, toStandardOutput)
    return ''
  }
  const path = resolveForCaller(file)
  const to = await opened(path, 'wx')
  const failed = fileFailed(path, 'written')
  try {
    await writeBackup(config.databaseUrl, (bytes) => to.appendFile(bytes).catch(failed))
    await to.sync().catch(failed)
    await to.close().catch(failed)
  } catch (error) {
    await to.close().catch(() => {})
    await rm(path, { force: true })
    throw error
  }
  const secret = config.jwtSecret ? 'JWT_SECRET' : resolve(config.dataDir, 'jwt-secret')
  return `The backup is in ${path}. Keep ${secret} too: without it, sign-in tokens and webhook secrets are lost`
}

/** Waits until the other program has received the bytes, because the end of this process would discard the rest. */
const toStandardOutput = (bytes: Uint8Array): Promise<void> =>
  new Promise<void>((resolve, reject) =>
    process.stdout.write(bytes, (error) => (error ? reject(error) : resolve())),
  ).catch(fileFailed('standard output', 'written'))

export const restore: CommandGroup = {
  '': [
    '<file> [replace]',
    'restores a backup into an empty database; replace deletes existing data first; - means standard input',
    read,
  ],
}

async function read({ config }: AdminContext, file = '', replace = ''): Promise<string> {
  if (replace && replace !== 'replace')
    throw new AdminError(`"${replace}" must be the word replace or be left out`)
  await restoreBackup(config.databaseUrl, contentOf(file), { replaces: replace !== '' })
  return 'The backup is restored'
}

async function* contentOf(file: string): AsyncGenerator<Uint8Array, void, void> {
  const path = file === standard ? 'standard input' : resolveForCaller(file)
  const from = file === standard ? process.stdin : (await opened(path, 'r')).createReadStream()
  try {
    yield* from
  } catch (error) {
    fileFailed(path, 'read')(error as NodeJS.ErrnoException)
  }
}

const opened = (path: string, flags: 'r' | 'wx') => open(path, flags, 0o600).catch(fileFailed(path, 'opened'))

/** Returns a function that throws an AdminError for an error of a file or of its disk. */
const fileFailed =
  (path: string, verb: string) =>
  ({ code = '', message }: NodeJS.ErrnoException): never => {
    if (code === 'EEXIST') throw new AdminError(`${path} already exists; name another file`)
    const advice = ['ENOSPC', 'EDQUOT'].includes(code)
      ? '. Its disk is full: name a file on another disk'
      : ''
    throw new AdminError(`${path} cannot be ${verb}: ${message}${advice}`)
  }

const blockBytes = 65_536

/**
 * @param store stores the next bytes of the backup
 * @throws AdminError, and the errors of `store`
 */
async function writeBackup(
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
