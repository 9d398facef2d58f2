import { randomUUID } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  concurrencyErrors,
  FairQueue,
  openConcurrencyLimit,
  type Permit,
} from '../../src/admission/fair-queue.ts'
import type { Caller } from '../../src/identity/rights.ts'
import { maxExports, type Sql } from '../../src/postgres/database.ts'
import { errorCode, markUnknownOutcome } from '../../src/postgres/errors.ts'
import type { Transaction } from '../../src/reads/standbys.ts'
import type { Versioned } from '../../src/reads/versions.ts'
import { unavailable, privateHeaders } from '../../src/responses/errors.ts'
import type { Services } from '../../src/services.ts'
import { within } from '../../src/waits.ts'
import { pipeline, type Transform } from 'node:stream'
import { createGunzip, createGzip } from 'node:zlib'
import { acceptsGzip, baseHeaders, requestId } from '../../src/responses/reply.ts'
import { streamedBody } from '../../src/responses/streamed-body.ts'

/**
 * Opens a file without a name: the system removes the file even if this process is killed. Writes to the file once,
 * because the disk may be full.
 * @throws HttpError 503 without a temporary file
 */
export async function openTemporaryFile(): Promise<FileHandle> {
  const path = join(tmpdir(), `docket-export-${randomUUID()}`)
  let file: FileHandle | undefined
  try {
    file = await open(path, 'ax+', 0o600)
    await unlink(path)
    await file.appendFile(new Uint8Array(chunkBytes))
    await file.truncate()
    return file
  } catch (error) {
    await file?.close()
    throw unavailable(
      `The service cannot store a temporary file (${errorCode(error)}); its operator must make the folder of TMPDIR writable, with free space`,
    )
  }
}

/** No export begins while the temporary files of the process, which wait for slow clients, have more bytes. */
const maxStoredBytes = 4_294_967_296
let storedBytes = 0

/** @throws HttpError 503 if the temporary files of the process have too many bytes */
export function requireSpace(max = maxStoredBytes): void {
  if (storedBytes > max) throw unavailable('The files of other exports take too much space; try again later')
}

const pollMs = 20

export type Spool = ReturnType<typeof openSpool>

/** Writes chunks to a temporary file as fast as they come, and reads them at the same time. */
export function openSpool(file: FileHandle, chunks: Chunks) {
  let state: 'writing' | 'complete' | 'closed' | { error: unknown } = 'writing'
  let written = 0
  const writeAll = async () => {
    for await (const chunk of chunks) {
      if (state === 'closed') return
      await file.appendFile(chunk)
      written += chunk.length
      storedBytes += chunk.length
    }
  }
  /** Resolves, also after an error, when nothing more is written. */
  const filled = writeAll().then(
    () => void (state === 'writing' && (state = 'complete')),
    (error: unknown) => void (state === 'writing' && (state = { error })),
  )
  return {
    filled,
    /** @throws the error of the written chunks */
    async *chunks(): Chunks {
      for (let position = 0; state !== 'closed';) {
        const length = Math.min(chunkBytes, written - position)
        if (length > 0) {
          const { bytesRead, buffer } = await file.read(new Uint8Array(length), 0, length, position)
          position += bytesRead
          yield buffer.subarray(0, bytesRead)
        } else if (state === 'complete') return
        else if (typeof state === 'object') throw state.error
        else await within(pollMs, filled)
      }
    },
    async close(): Promise<void> {
      state = 'closed'
      await filled
      storedBytes -= written
      written = 0
      await file.close()
    },
  }
}

const what = 'exports'
/** The maximum number of concurrent downloads of a process. */
const maxDownloads = 64

export type ExportsInProgress = ReturnType<typeof openExportsInProgress>

/** An export needs a place only while it reads the database. Until its client has the file, it counts as a download. */
export function openExportsInProgress() {
  const queue = new FairQueue({ what, whose: 'of this account', slots: maxExports, slotsOfKey: 1 })
  const errors = concurrencyErrors(what)
  return {
    downloads: openConcurrencyLimit({ what, ofAll: maxDownloads, ofAccount: 1 }),
    errors,
    /** @throws HttpError 503 if no place is free within `maxMs` */
    async takePlace({ userId }: Caller, maxMs: number): Promise<Permit> {
      const acquiring = Promise.resolve(queue.acquire(userId))
      const place = await within(maxMs, acquiring)
      if (place) return place
      void acquiring.then((late) => late.release())
      throw errors[1]
    },
  }
}

/** This number of rows counts as one read, as in a page of a list. */
const rowsPerRead = 200
/** This number of reversed events counts as one read, as in other reads with `asOf`. */
const eventsPerRead = 25

/** An export that exceeds the remaining budget still runs, and empties it. @throws HttpError 429 for an empty budget */
export async function charge(
  { limits }: Pick<Services, 'limits'>,
  caller: Caller,
  rows: number,
  reversedEvents = 0,
): Promise<void> {
  const cost = Math.ceil(rows / rowsPerRead + reversedEvents / eventsPerRead)
  if (cost > 0) await limits.budgets?.reads.takeMore(caller, cost)
}

/**
 * The idle timeout ends transactions of lost processes. The other settings make Postgres read rows from indexes in the
 * order of the file: the first rows arrive at once, and Postgres never sorts all rows.
 */
const settings = `
  set local idle_in_transaction_session_timeout = '45s'; set local statement_timeout = '60s';
  set local jit = off; set local plan_cache_mode = force_custom_plan; set local cursor_tuple_fraction = 0.001;
  set local enable_seqscan = off; set local enable_bitmapscan = off; set local enable_hashjoin = off;
  set local enable_mergejoin = off; set local enable_sort = off;
  set local max_parallel_workers_per_gather = 0; set local random_page_cost = 1.1`

const beginIn = (pool: Sql) =>
  new Promise<Transaction>((resolve, reject) => {
    const closed = Promise.withResolvers<void>()
    const ended = pool
      .begin('isolation level repeatable read read only', async (own) => {
        const sql = own as never as Sql
        await sql.unsafe(settings)
        resolve({ sql, close: () => (closed.resolve(), ended) })
        await closed.promise
      })
      .catch(reject)
  })

/**
 * Writes texts that one transaction reads to a temporary file. So the transaction is as long as the reads, even if the
 * client of the file is slow. All reads use one snapshot.
 * @param place released after the transaction
 * @param project may be read from a standby with its state
 * @param read returns the texts, and what the response needs before them
 * @throws HttpError 503
 */
export async function openSpooled<Begun extends { texts: AsyncGenerator<string> }>(
  { database, standbys }: Pick<Services, 'database' | 'standbys'>,
  place: Permit,
  project: Versioned | undefined,
  read: (sql: Sql) => Promise<Begun>,
): Promise<Begun & { spool: Spool }> {
  let reading: Transaction | undefined
  const close = async () => {
    await reading?.close()
    place.release()
  }
  try {
    requireSpace()
    const begun = standbys && project && standbys.begin({ projects: [project] }, beginIn)
    reading = await (begun ?? beginIn(database.exports))
    const found = await read(reading.sql)
    const spool = openSpool(await openTemporaryFile(), zipped(found.texts))
    void spool.filled.then(close)
    return { ...found, spool }
  } catch (error) {
    await close()
    // The response to a lost connection is 503.
    if (errorCode(error) !== '') markUnknownOutcome(error)
    throw error
  }
}

export type Chunks = AsyncGenerator<Uint8Array, void, void>

export const chunkBytes = 65_536

async function* transformed(chunks: AsyncGenerator<string | Uint8Array>, transform: Transform): Chunks {
  try {
    yield* pipeline(chunks, transform, () => {})
  } finally {
    // The pipeline does not wait for the end of its source.
    await chunks.return(undefined)
  }
}

/** Compresses with the level of other responses. zlib runs in another thread. */
export const zipped = (chunks: AsyncGenerator<string | Uint8Array>): Chunks =>
  transformed(chunks, createGzip({ level: 3, chunkSize: chunkBytes }))
export const unzipped = (chunks: Chunks): Chunks =>
  transformed(chunks, createGunzip({ chunkSize: chunkBytes }))

/** The connection of a client that receives nothing for this time is closed. */
const maxStallMs = 30_000
/** The longest time of an export: an open transaction prevents Postgres from removing old rows. */
const maxMs = 1_800_000

export interface File {
  name: string
  contentType: string
  headers?: Record<string, string>
  /** The file, compressed by gzip. */
  chunks: Chunks
  /** Called once, when the response ends for any reason. */
  close(error?: unknown): unknown
}

/** The content type of a file that clients receive compressed, even without `Accept-Encoding: gzip`. */
export const gzipType = 'application/gzip'

export function respondWithFile(
  request: Request,
  { name, contentType, headers, chunks, close }: File,
  limitMs = { stall: maxStallMs, all: maxMs },
): Response {
  const isArchive = contentType === gzipType
  const isEncoded = !isArchive && acceptsGzip(request)
  const bytes = isEncoded || isArchive ? chunks : unzipped(chunks)
  return new Response(streamedBody(request.signal, bytes, close, limitMs), {
    headers: {
      ...baseHeaders,
      'content-type': contentType,
      'content-disposition': `attachment; filename="${name}"`,
      'cache-control': 'no-store',
      vary: `${privateHeaders.vary}, Accept-Encoding`,
      'x-request-id': requestId(),
      ...(isEncoded && { 'content-encoding': 'gzip' }),
      ...headers,
    },
  })
}
