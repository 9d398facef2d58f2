import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { ImportError } from '../../modules/imports/items.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { SliceEnded } from '../throttle.ts'

const maxUnpackedBytes = 268_435_456

const isGzip = (chunk: Uint8Array) => chunk[0] === 0x1f && chunk[1] === 0x8b

/** Reads the stored parts of a file, one at a time. @param onChunk called with the number of each part, from 0 */
export async function* readChunks(
  sql: Sql,
  importId: string,
  onChunk: (n: number) => void = () => {},
): AsyncGenerator<Uint8Array> {
  for (let n = 0; ; n++) {
    const [chunk] = await sql<{ bytes: Uint8Array }[]>`
      select bytes from import_chunks where import_id = ${importId} and n = ${n}`
    if (!chunk) return
    onChunk(n)
    yield chunk.bytes
  }
}

/**
 * Returns the content of the file. Unpacks a gzip archive.
 * @throws ImportError if the archive is broken or too large
 */
export async function* unpack(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes = maxUnpackedBytes,
): AsyncGenerator<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]()
  const first = await iterator.next()
  if (first.done) return
  const all = startingWith(first.value, iterator)
  let bytes = 0
  for await (const chunk of isGzip(first.value) ? gunzip(all) : all) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new ImportError(`The unpacked file has more than ${maxBytes} bytes`)
    yield chunk
  }
}

async function* startingWith(first: Uint8Array, iterator: AsyncIterator<Uint8Array>) {
  yield first
  for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value
}

async function* gunzip(packed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const unpacked = createGunzip()
  // An error of the source also ends the unpacked stream.
  pipeline(Readable.from(packed), unpacked, () => {})
  try {
    yield* unpacked
  } catch (error) {
    const isBroken = String((error as { code?: string }).code).startsWith('Z_')
    throw isBroken ? new ImportError('The gzip archive is broken, or its end is missing') : error
  } finally {
    unpacked.destroy()
  }
}

const smallBytes = 8_388_608
const waitMs = 1_000
const maxKnown = 1_000

export type LargeFiles = ReturnType<typeof openLargeFiles>
export type Reading = ReturnType<LargeFiles['begin']>

/**
 * A worker process reads one large file at a time, because a file may need minutes of processor time and hundreds of
 * megabytes. The imports of other large files do not count as running jobs while they wait. As an account runs one import
 * at a time, accounts take turns. Imports of small files do not wait.
 */
export function openLargeFiles() {
  /** The imports whose files are known to be large. They wait before they read their file again. */
  const large = new Set<string>()
  let current: string | undefined
  return {
    /** Begins to read the file of an import. A parser may read after the end: `admit` then throws. */
    begin(importId: string) {
      let hasEnded = false
      return {
        /** @param bytes read of the unpacked file @throws SliceEnded while another large file is read */
        admit(bytes = 0): void {
          if (hasEnded) throw new SliceEnded()
          if (large.size === maxKnown) large.clear()
          if (bytes > smallBytes) large.add(importId)
          if (!large.has(importId)) return
          if (current !== undefined && current !== importId) throw new SliceEnded(waitMs)
          current = importId
        },
        end(): void {
          hasEnded = true
          if (current !== importId) return
          current = undefined
          large.delete(importId)
        },
      }
    },
  }
}
