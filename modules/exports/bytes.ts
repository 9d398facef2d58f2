import { randomUUID } from 'node:crypto'
import { open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { createGzip } from 'node:zlib'

export type Bytes = Uint8Array<ArrayBuffer>
export type Chunks = AsyncGenerator<string | Uint8Array, void, void>

export async function* encoded(chunks: Chunks): AsyncGenerator<Bytes, void, void> {
  const encoder = new TextEncoder()
  for await (const chunk of chunks) yield typeof chunk === 'string' ? encoder.encode(chunk) : (chunk as Bytes)
}

const chunkBytes = 65_536

/** Compresses with the level of other responses. zlib runs in another thread. */
export async function* zipped(chunks: Chunks): AsyncGenerator<Bytes, void, void> {
  const source = encoded(chunks)
  try {
    yield* pipeline(source, createGzip({ level: 3, chunkSize: chunkBytes }), () => {})
  } finally {
    // The pipeline does not wait for the end of its source.
    await source.return()
  }
}

/** Stores bytes in a temporary file, which has no name: the system removes the file even if this process is killed. */
export async function spool(chunks: Chunks) {
  const path = join(tmpdir(), `docket-export-${randomUUID()}`)
  const file = await open(path, 'wx+', 0o600)
  try {
    await unlink(path)
    let size = 0
    for await (const chunk of encoded(chunks)) {
      await file.appendFile(chunk)
      size += chunk.length
    }
    return {
      size,
      close: () => file.close(),
      async *chunks(): Chunks {
        for (let at = 0; at < size;) {
          const { bytesRead, buffer } = await file.read(new Uint8Array(chunkBytes), 0, chunkBytes, at)
          if (bytesRead === 0) throw new Error('A temporary file is shorter than the written bytes')
          yield buffer.subarray(0, bytesRead)
          at += bytesRead
        }
      },
    }
  } catch (error) {
    await file.close()
    throw error
  }
}
