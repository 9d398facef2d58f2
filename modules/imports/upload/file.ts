import { pipeline } from 'node:stream/promises'
import { tooLarge } from '../../../src/http/json-body.ts'
import type { Sql } from '../../../src/postgres/database.ts'
import { errorCode, retryOnce } from '../../../src/postgres/errors.ts'
import { badRequest, HttpError } from '../../../src/responses/errors.ts'
import { within } from '../../../src/waits.ts'

/** A file must arrive within this time. */
const receivingMinutes = 10

const endedEarly = () => badRequest('The body ended before its last byte arrived')
const uploadStalled = (timeoutMs: number) =>
  new HttpError(408, `No part of the body arrived for ${timeoutMs} ms`, { connection: 'close' })
const uploadTooLate = () =>
  new HttpError(408, `The file must arrive within ${receivingMinutes} minutes`, { connection: 'close' })
const emptyFile = () => badRequest('The file is empty')
const zipArchive = () => badRequest('The file is a ZIP archive: unpack it, and send the file in it')
export const fileErrors = (timeoutMs: number) => [
  ...[emptyFile(), zipArchive(), endedEarly(), uploadStalled(timeoutMs), uploadTooLate()],
]

/**
 * Yields the parts of a body as they arrive, with backpressure: a slow consumer makes the client wait. A part is valid until
 * the consumer requests the next one: hundreds of megabytes of parts would accumulate until the garbage collector frees
 * them (measured).
 * @throws HttpError 408 if no part arrives within `timeoutMs` or the body takes too long, 400 if the body is incomplete
 */
export async function* partsOf(
  { body, headers, signal }: Request,
  timeoutMs: number,
  maxMs = receivingMinutes * 60_000,
): AsyncGenerator<Uint8Array> {
  const endsAt = performance.now() + maxMs
  const reader = (body ?? new Blob([]).stream()).getReader()
  let received = 0
  try {
    for (;;) {
      if (performance.now() > endsAt) throw uploadTooLate()
      const next = reader.read().catch(() => Promise.reject(endedEarly()))
      const part = await within(timeoutMs, next)
      if (!part) throw uploadStalled(timeoutMs)
      if (part.done) break
      received += part.value.length
      yield part.value
      free(part.value)
    }
    if (signal.aborted || received < Number(headers.get('content-length'))) throw endedEarly()
  } finally {
    reader.cancel().catch(() => {})
  }
}

function free({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}

const chunkBytes = 262_144

const isZip = (bytes: Buffer): boolean => bytes.subarray(0, 4).equals(Buffer.from('PK\x03\x04'))

/**
 * Cuts a file into chunks and stores them one after another, so that at most one chunk is in memory.
 * @throws HttpError 413 if the file exceeds the limit, 400 if it is empty or a ZIP archive
 */
export async function storeChunks(
  parts: AsyncIterable<Uint8Array>,
  limitBytes: number,
  store: (n: number, bytes: Buffer) => Promise<unknown>,
): Promise<void> {
  const chunk = Buffer.alloc(chunkBytes)
  let [size, n] = [0, 0]
  const flush = async () => {
    const bytes = chunk.subarray(0, size)
    if (n === 0 && isZip(bytes)) throw zipArchive()
    await store(n++, bytes)
    size = 0
  }
  for await (const part of parts) {
    if (n * chunkBytes + size + part.length > limitBytes) throw tooLarge(limitBytes)
    for (let at = 0; at < part.length;) {
      const some = part.subarray(at, at + chunkBytes - size)
      chunk.set(some, size)
      size += some.length
      at += some.length
      if (size === chunkBytes) await flush()
    }
  }
  if (size > 0) await flush()
  if (n === 0) throw emptyFile()
}

/**
 * Stores a chunk. COPY sends its bytes as they are: as a parameter they would be text, whose copies would take 1.7 MiB of
 * memory for a chunk (measured).
 */
export const insertChunk = (sql: Sql, importId: string, n: number, bytes: Buffer): Promise<unknown> =>
  retryOnce<unknown>(() => insert(sql, importId, n, bytes)).catch((error: unknown) => {
    // The first attempt has already stored the chunk.
    if (errorCode(error) !== uniqueViolation) throw error
  })

const insert = (sql: Sql, importId: string, n: number, bytes: Buffer) =>
  sql.begin(async (tx) => {
    const query = tx`copy import_chunks (import_id, n, bytes) from stdin (format binary)`
    await pipeline([rowStart(importId, n, bytes.length), bytes, noMoreRows], await query.writable())
  })

const uniqueViolation = '23505'
const fileHeader = `${Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1').toString('hex')}${'0'.repeat(16)}`
const noMoreRows = Buffer.from([0xff, 0xff])
const int32 = (value: number) => value.toString(16).padStart(8, '0')

/** The bytes before those of the chunk, see https://www.postgresql.org/docs/current/sql-copy.html */
const rowStart = (importId: string, n: number, length: number): Buffer =>
  Buffer.from(
    `${fileHeader}0003${int32(16)}${importId.replaceAll('-', '')}${int32(4)}${int32(n)}${int32(length)}`,
    'hex',
  )
