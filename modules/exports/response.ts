import { pipeline, type Transform } from 'node:stream'
import { createGunzip, createGzip } from 'node:zlib'
import { privateHeaders } from '../../src/responses/errors.ts'
import { acceptsGzip, baseHeaders, requestId } from '../../src/responses/reply.ts'
import { streamedBody } from '../../src/responses/streamed-body.ts'

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
