import { pipeline, type Transform } from 'node:stream'
import { createGunzip, createGzip } from 'node:zlib'

export type Bytes = Uint8Array<ArrayBuffer>
export type Chunks = AsyncGenerator<string | Uint8Array, void, void>

export async function* encoded(chunks: Chunks): AsyncGenerator<Bytes, void, void> {
  const encoder = new TextEncoder()
  for await (const chunk of chunks) yield typeof chunk === 'string' ? encoder.encode(chunk) : (chunk as Bytes)
}

export const chunkBytes = 65_536

async function* transformed(chunks: Chunks, transform: Transform): AsyncGenerator<Bytes, void, void> {
  const source = encoded(chunks)
  try {
    yield* pipeline(source, transform, () => {})
  } finally {
    // The pipeline does not wait for the end of its source.
    await source.return()
  }
}

/** Compresses with the level of other responses. zlib runs in another thread. */
export const zipped = (chunks: Chunks) => transformed(chunks, createGzip({ level: 3, chunkSize: chunkBytes }))

export const unzipped = (chunks: Chunks) => transformed(chunks, createGunzip({ chunkSize: chunkBytes }))
