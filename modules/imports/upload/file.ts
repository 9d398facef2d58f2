import { tooLarge } from '../../../src/http/json-body.ts'
import { copyRows } from '../../../src/postgres/copy.ts'
import type { Sql } from '../../../src/postgres/database.ts'
import { errorCode } from '../../../src/postgres/errors.ts'
import { retryOnce } from '../../../src/postgres/retries.ts'
import { badRequest, HttpError, notFound, unavailable } from '../../../src/responses/errors.ts'
import type { ImportRow } from '../rows.ts'

export const endedEarly = () => badRequest('The body ended before its last byte arrived')
export const stalled = (timeoutMs: number) =>
  new HttpError(408, `No part of the body arrived for ${timeoutMs} ms`, { connection: 'close' })

/**
 * Yields the parts of a body as they arrive, with backpressure: a slow consumer makes the client wait.
 * @throws HttpError 408 if no part arrives within `timeoutMs`, 400 if the body is incomplete
 */
export async function* partsOf({ body, headers, signal }: Request, timeoutMs: number) {
  const reader = body?.getReader()
  let received = 0
  try {
    for (;;) {
      const { value, done } = (await nextPart(reader, timeoutMs)) ?? { done: true }
      if (done) break
      received += value!.length
      yield value as Uint8Array
    }
    if (signal.aborted || received < Number(headers.get('content-length'))) throw endedEarly()
  } finally {
    reader?.cancel().catch(() => {})
  }
}

/** Without this, hundreds of megabytes of parts accumulate until the garbage collector frees them (measured). */
export function freeMemory({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}

type Reader = ReadableStreamDefaultReader<Uint8Array>

async function nextPart(reader: Reader | undefined, timeoutMs: number) {
  const timeout = Promise.withResolvers<never>()
  const timer = setTimeout(() => timeout.reject(stalled(timeoutMs)), timeoutMs)
  const part = reader?.read().catch(() => Promise.reject(endedEarly()))
  return Promise.race([part, timeout.promise]).finally(() => clearTimeout(timer))
}

const chunkBytes = 262_144

export const emptyFile = () => badRequest('The file is empty')
export const zipArchive = () => badRequest('The file is a ZIP archive: unpack it, and send the file in it')

const zipStart = [0x50, 0x4b, 0x03, 0x04]
const isZip = (bytes: Uint8Array): boolean => zipStart.every((byte, n) => bytes[n] === byte)

type Store = (n: number, bytes: Uint8Array) => Promise<void>

/** Cuts a file into chunks and stores them one after another, so that at most one chunk is in memory. */
export class ChunkWriter {
  private readonly chunk = new Uint8Array(chunkBytes)
  private size = 0
  private n = 0

  constructor(
    private readonly limitBytes: number,
    private readonly store: Store,
  ) {}

  /** @throws HttpError 413 if the file exceeds the limit */
  async write(bytes: Uint8Array): Promise<void> {
    if (this.n * chunkBytes + this.size + bytes.length > this.limitBytes) throw tooLarge(this.limitBytes)
    for (let at = 0; at < bytes.length;) {
      const part = bytes.subarray(at, at + chunkBytes - this.size)
      this.chunk.set(part, this.size)
      this.size += part.length
      at += part.length
      if (this.size === chunkBytes) await this.flush()
    }
  }

  /** @throws HttpError 400 if the file is empty */
  async end(): Promise<void> {
    if (this.size > 0) await this.flush()
    if (this.n === 0) throw emptyFile()
  }

  private async flush(): Promise<void> {
    const bytes = this.chunk.subarray(0, this.size)
    if (this.n === 0 && isZip(bytes)) throw zipArchive()
    await this.store(this.n++, bytes)
    this.size = 0
  }
}

/** A file must arrive within this time. */
export const receivingMinutes = 10

export const tooLate = () =>
  new HttpError(408, `The file must arrive within ${receivingMinutes} minutes`, { connection: 'close' })
export const interrupted = () => unavailable('The upload was interrupted: send the file again')

/** A worker has removed the import while its file was arriving. */
export class UploadRemoved extends Error {}

/** Returns the error for the client of a removed upload. */
export async function removalError(
  sql: Sql,
  { id, projectId, createdAt }: Pick<ImportRow, 'id' | 'projectId' | 'createdAt'>,
): Promise<HttpError> {
  const [row] = await sql<{ hasProject: boolean; isLate: boolean }[]>`
    select exists (select from projects where id = ${projectId}) as has_project,
      coalesce((select created_at from imports where id = ${id}), ${createdAt}::timestamptz)
        < now() - ${receivingMinutes}::int4 * interval '1 minute' as is_late`
  if (!row!.hasProject) return notFound('Project')
  return row!.isLate ? tooLate() : interrupted()
}

/**
 * Stores a chunk. COPY sends its bytes as they are: as a parameter they would be text, and the copies of the text would
 * take 1.7 MiB of memory for a chunk (measured). The lock prevents workers from removing the import.
 * @throws UploadRemoved if a worker has removed the import
 */
export async function insertChunk(sql: Sql, importId: string, n: number, bytes: Uint8Array): Promise<void> {
  const store = () =>
    sql.begin(async (tx) => {
      const [receiving] = await tx`
        select id from imports where id = ${importId} and state = 'receiving' for share`
      if (!receiving) throw new UploadRemoved()
      const copy = tx`copy import_chunks (import_id, n, bytes) from stdin (format binary)`
      await copyRows(copy, [rowStart(importId, n, bytes.length), bytes, noMoreRows])
    })
  await retryOnce(store).catch((error: unknown) => {
    // The first attempt has already stored the chunk.
    if (errorCode(error) !== uniqueViolation) throw error
  })
}

const uniqueViolation = '23505'
const fileHeader = Buffer.from('PGCOPY\n\xff\r\n\0' + '\0'.repeat(8), 'latin1')
const noMoreRows = Buffer.from([0xff, 0xff])

/** The bytes before those of the chunk, see https://www.postgresql.org/docs/current/sql-copy.html */
function rowStart(importId: string, n: number, length: number): Buffer {
  const row = Buffer.alloc(34)
  row.writeInt16BE(3, 0)
  row.writeInt32BE(16, 2)
  row.write(importId.replaceAll('-', ''), 6, 'hex')
  row.writeInt32BE(4, 22)
  row.writeInt32BE(n, 26)
  row.writeInt32BE(length, 30)
  return Buffer.concat([fileHeader, row])
}
