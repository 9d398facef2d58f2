import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { ImportError } from '../../modules/imports/items.ts'
import type { Sql } from '../../src/postgres/database.ts'

const maxUnpackedBytes = 268_435_456

/** Yields the stored parts of a file, one at a time. @param onChunk called with the number of each part, from 0 */
async function* chunksOf(sql: Sql, importId: string, onChunk: (n: number) => void) {
  for (let n = 0; ; n++) {
    const [chunk] = await sql<{ bytes: Uint8Array }[]>`
      select bytes from import_chunks where import_id = ${importId} and n = ${n}`
    if (!chunk) return
    onChunk(n)
    yield chunk.bytes
  }
}

/**
 * Yields the content of a stored file. Unpacks a gzip archive.
 * @throws ImportError if the archive is broken or too large
 */
export async function* contentOf(sql: Sql, importId: string, onChunk: (n: number) => void) {
  const [first] = await sql<{ isGzip: boolean }[]>`
    select substring(bytes for 2) = '\\x1f8b' as is_gzip from import_chunks where import_id = ${importId} and n = 0`
  const chunks = chunksOf(sql, importId, onChunk)
  let bytes = 0
  for await (const part of first?.isGzip ? gunzip(chunks) : chunks) {
    bytes += part.length
    if (bytes > maxUnpackedBytes)
      throw new ImportError(`The unpacked file has more than ${maxUnpackedBytes} bytes`)
    yield part
  }
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
