import { randomUUID } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { concurrencyErrors, FairQueue, openConcurrencyLimit } from '../../src/admission/fair-queue.ts'
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
 * The maximum number of bytes that a writer is ahead of its reader. With the limit of concurrent downloads, temporary
 * files take at most 4 GiB.
 */
const maxAheadBytes = 67_108_864
/** A writer that has waited this long for its client ends if another export waits for a place. */
const maxHeldMs = 30_000

function noTemporaryFile(reason: string) {
  const advice = ['ENOSPC', 'EDQUOT'].includes(reason) ? 'free space in' : 'make writable'
  return unavailable(
    `The service cannot store a temporary file (${reason}); its operator must ${advice} the folder of TMPDIR`,
  )
}

/**
 * Opens a file without a name: the system removes the file even if this process is killed. Writes to the file once,
 * because the disk may be full. The first bytes of the export replace these bytes.
 * @throws HttpError 503 without a temporary file
 */
export async function openTemporaryFile(): Promise<FileHandle> {
  const path = join(tmpdir(), `docket-export-${randomUUID()}`)
  let file: FileHandle | undefined
  try {
    file = await open(path, 'wx+', 0o600)
    await unlink(path)
    await file.writeFile(new Uint8Array(chunkBytes))
    return file
  } catch (error) {
    await file?.close()
    throw noTemporaryFile(errorCode(error))
  }
}

interface SpoolOptions {
  /** True if another export waits for a place. */
  isWanted(): boolean
  aheadBytes?: number | undefined
  heldMs?: number
}

/** Writes chunks to a temporary file, and reads them at the same time. The writer reuses the space that was read. */
export class Spool {
  /** Resolves, also after an error, when nothing more is written. */
  readonly filled: Promise<void>
  private readonly max: number
  private written = 0
  private read = 0
  private state: 'writing' | 'complete' | 'closed' | { error: unknown } = 'writing'
  private changed = Promise.withResolvers<void>()

  constructor(
    private readonly file: FileHandle,
    chunks: Chunks,
    { isWanted, aheadBytes = maxAheadBytes, heldMs = maxHeldMs }: SpoolOptions,
  ) {
    const isSlow = (waitedMs: number) => waitedMs > heldMs && isWanted()
    this.max = aheadBytes
    this.filled = this.writeAll(chunks, isSlow).then(
      () => this.enter('complete'),
      (error: unknown) => this.enter({ error }),
    )
  }

  /** @throws the error of the written chunks */
  async *chunks(): Chunks {
    for (;;) {
      const { changed } = this
      const length = Math.min(chunkBytes, this.written - this.read, this.max - (this.read % this.max))
      if (typeof this.state === 'object') throw this.state.error
      if (this.state === 'closed' || (this.state === 'complete' && length === 0)) return
      if (length === 0) {
        await changed.promise
        continue
      }
      const bytes = new Uint8Array(length)
      const { bytesRead } = await this.file.read(bytes, 0, length, this.read % this.max)
      if (bytesRead === 0) throw new Error('A temporary file is shorter than the written bytes')
      this.read += bytesRead
      this.notify()
      yield bytes.subarray(0, bytesRead)
    }
  }

  async close(): Promise<void> {
    this.enter('closed')
    await this.filled
    await this.file.close()
  }

  private async writeAll(chunks: Chunks, isSlow: (waitedMs: number) => boolean): Promise<void> {
    let waitedMs = 0
    for await (const chunk of chunks)
      for (let from = 0; from < chunk.length;) {
        if (this.state === 'closed') throw new Error('The client has gone')
        const space = Math.min(this.max - (this.written - this.read), this.max - (this.written % this.max))
        if (space === 0) {
          if (isSlow(waitedMs))
            throw new Error('The client receives the file too slowly while other exports wait')
          const since = performance.now()
          await this.changed.promise
          waitedMs += performance.now() - since
          continue
        }
        const length = Math.min(space, chunk.length - from)
        const { bytesWritten } = await this.file.write(chunk, from, length, this.written % this.max)
        from += bytesWritten
        this.written += bytesWritten
        this.notify()
      }
  }

  /** A closed spool stays closed. */
  private enter(state: Spool['state']): void {
    if (this.state !== 'closed') this.state = state
    this.notify()
  }

  private notify(): void {
    this.changed.resolve()
    this.changed = Promise.withResolvers()
  }
}

const what = 'exports'
/** The maximum number of concurrent downloads of a process. */
const maxDownloads = 64
/** How long an export waits for a place before its response begins, and how long between the projects of an account. */
const firstWaitMs = 10_000
export const nextWaitMs = 120_000

export type ExportsInProgress = ReturnType<typeof openExportsInProgress>

/**
 * An export needs a place only while it reads the database. Its client may receive the file for longer, and then counts
 * as a download.
 */
export function openExportsInProgress() {
  const queue = new FairQueue({ what, whose: 'of this account', slots: maxExports, slotsOfKey: 1 })
  const errors = concurrencyErrors(what)
  let waiting = 0
  return {
    downloads: openConcurrencyLimit({ what, ofAll: maxDownloads, ofAccount: 1 }),
    errors,
    /** @throws HttpError 503 if no place is free within `maxMs` */
    placesOf: ({ userId }: Caller, maxMs = firstWaitMs): Places => ({
      isWanted: () => waiting > 0,
      async take() {
        const acquiring = Promise.resolve(queue.acquire(userId))
        waiting++
        const permit = await within(maxMs, acquiring).finally(() => waiting--)
        if (permit) return permit
        void acquiring.then((late) => late.release())
        throw errors[1]!
      },
    }),
  }
}

export interface Places {
  isWanted(): boolean
  take(): Promise<{ release(): void }>
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
 * A transaction is idle while the export waits for its client. The idle timeout is longer than this wait, so it only
 * ends transactions of lost processes. The other settings make Postgres read rows from indexes in the order of the
 * file: the first rows arrive at once, and Postgres never sorts all rows.
 */
const settings = `
  set local idle_in_transaction_session_timeout = '45s'; set local statement_timeout = '60s';
  set local jit = off; set local plan_cache_mode = force_custom_plan; set local cursor_tuple_fraction = 0.001;
  set local enable_seqscan = off; set local enable_bitmapscan = off; set local enable_hashjoin = off;
  set local enable_mergejoin = off; set local enable_sort = off;
  set local max_parallel_workers_per_gather = 0; set local random_page_cost = 1.1`

/** Marks the error of a lost connection, so that the response is 503. */
function asTemporary(error: unknown): unknown {
  if (errorCode(error) !== '') markUnknownOutcome(error)
  return error
}

async function beginIn(pool: Sql): Promise<Transaction> {
  const opened = Promise.withResolvers<Sql>()
  const closed = Promise.withResolvers<void>()
  const ended = pool.begin('isolation level repeatable read read only', async (own) => {
    const sql = own as never as Sql
    await sql.unsafe(settings)
    opened.resolve(sql)
    await closed.promise
  })
  const over = ended.then(
    () => {},
    (error: unknown) => opened.reject(asTemporary(error)),
  )
  const close = () => {
    closed.resolve()
    return over
  }
  return { sql: await opened.promise, close }
}

/**
 * Writes texts that one transaction reads to a temporary file. So the transaction is as long as the reads, even if the
 * client of the file is slow. All reads use one snapshot.
 * @param project may be read from a standby with its state
 * @param read returns the texts, and what the response needs before them
 * @throws HttpError 503
 */
export async function openSpooled<Begun extends { texts: AsyncGenerator<string> }>(
  { database, standbys }: Pick<Services, 'database' | 'standbys'>,
  places: Places,
  project: Versioned | undefined,
  read: (sql: Sql) => Promise<Begun>,
  aheadBytes?: number,
): Promise<Begun & { spool: Spool }> {
  const place = await places.take()
  let reading: Transaction | undefined
  const close = async () => {
    await reading?.close()
    place.release()
  }
  try {
    const begun = standbys && project && standbys.begin({ projects: [project] }, beginIn)
    reading = await (begun ?? beginIn(database.exports))
    const found = await read(reading.sql)
    const file = await openTemporaryFile()
    const spool = new Spool(file, zipped(found.texts), { isWanted: places.isWanted, aheadBytes })
    void spool.filled.then(close)
    return { ...found, spool }
  } catch (error) {
    await close()
    throw asTemporary(error)
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

export interface FileInfo {
  name: string
  contentType: string
  /** True if the client receives the compressed file even without `Accept-Encoding: gzip`. */
  isCompressed?: boolean
  headers?: Record<string, string>
}

export interface File extends FileInfo {
  /** The file, compressed by gzip. */
  chunks: Chunks
  /** Called once, when the response ends for any reason. */
  close(error?: unknown): unknown
}

export function respondWithFile(
  request: Request,
  file: File,
  limitMs = { stall: maxStallMs, all: maxMs },
): Response {
  const bytes = isZipped(request, file) || file.isCompressed ? file.chunks : unzipped(file.chunks)
  const body = streamedBody(request.signal, bytes, file.close, limitMs)
  return new Response(body, { headers: fileHeaders(request, file) })
}

const isZipped = (request: Request, { isCompressed }: FileInfo) => !isCompressed && acceptsGzip(request)

export const fileHeaders = (request: Request, file: FileInfo) => ({
  ...baseHeaders,
  'content-type': file.contentType,
  'content-disposition': `attachment; filename="${file.name}"`,
  'cache-control': 'no-store',
  vary: `${privateHeaders.vary}, Accept-Encoding`,
  'x-request-id': requestId(),
  ...(isZipped(request, file) && { 'content-encoding': 'gzip' }),
  ...file.headers,
})
