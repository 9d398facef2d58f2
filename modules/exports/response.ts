import { pipeline, type Transform } from 'node:stream'
import { createGunzip, createGzip } from 'node:zlib'
import { privateHeaders } from '../../src/responses/errors.ts'
import { acceptsGzip, baseHeaders, requestId } from '../../src/responses/reply.ts'

type Bytes = Uint8Array<ArrayBuffer>
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
  close(): Promise<void>
  /** Called with an error that ended the file early. */
  failed(error: unknown): void
}

/**
 * Streams a file: each chunk is read when the client needs it. After an error, the connection is closed without the
 * end of the body, so that the client detects the incomplete file.
 */
export function respondWithFile(
  request: Request,
  file: File,
  limitMs = { stall: maxStallMs, all: maxMs },
): Response {
  const bytes = isZipped(request, file) || file.isCompressed ? file.chunks : unzipped(file.chunks)
  const headers = fileHeaders(request, file)
  return new Response(streamOf(request.signal, bytes, file, limitMs), { headers })
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

/** Ends once: when the file is complete, after an error, after a disconnect, or when a limit is exceeded. */
function streamOf(
  signal: AbortSignal,
  bytes: Chunks,
  file: Pick<File, 'close' | 'failed'>,
  limitMs: { stall: number; all: number },
): ReadableStream<Bytes> {
  let isOver = false
  let stall: ReturnType<typeof setTimeout> | undefined
  let all: ReturnType<typeof setTimeout> | undefined
  const end = async (): Promise<void> => {
    if (isOver) return
    isOver = true
    clearTimeout(stall)
    clearTimeout(all)
    signal.removeEventListener('abort', end)
    // `return` waits for a read in progress, which `close` ends.
    await Promise.all([file.close(), bytes.return()])
  }
  const start = (controller: ReadableStreamDefaultController<Bytes>) => {
    const fail = (error: unknown) => {
      if (isOver) return
      file.failed(error)
      controller.error(error)
      void end()
    }
    const limit = (part: string, ms: number) =>
      setTimeout(fail, ms, new Error(`The client did not receive ${part} within ${ms / 1_000} s`))
    signal.addEventListener('abort', end, { once: true })
    all = limit('the file', limitMs.all)
    return async () => {
      clearTimeout(stall)
      try {
        const { value, done } = await bytes.next()
        if (isOver) return
        if (!done) {
          stall = limit('more', limitMs.stall)
          return controller.enqueue(value as Bytes)
        }
        await end()
        controller.close()
      } catch (error) {
        fail(error)
      }
    }
  }
  let pull: ReturnType<typeof start>
  return new ReadableStream<Bytes>(
    { start: (controller) => void (pull = start(controller)), pull: () => pull(), cancel: end },
    { highWaterMark: 0 },
  )
}
