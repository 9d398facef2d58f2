import { pipeline } from 'node:stream'
import { createGzip } from 'node:zlib'
import { privateHeaders } from '../../src/responses/errors.ts'
import { acceptsGzip, baseHeaders, requestId } from '../../src/responses/reply.ts'

/** A client that receives nothing for this time is cut off. */
const maxStallMs = 30_000
/** A transaction that is open for long keeps Postgres from removing old rows. */
const maxMs = 1_800_000

export interface File {
  name: string
  contentType: string
  /** Whether `chunks` is compressed already. */
  isCompressed?: boolean
  headers?: Record<string, string>
  chunks: AsyncGenerator<string | Uint8Array, void, void>
  /** Called once, when the file is complete, or the client has gone. */
  close(): Promise<void>
  /** Called with an error that ended the file early. */
  failed(error: unknown): void
}

/**
 * Sends a file whose chunks are made while the client receives it. After an error the connection is closed without the
 * end of the body, so that the client notices that the file is not complete.
 */
export function respondWithFile(request: Request, file: File, limitMs = { stall: maxStallMs, all: maxMs }) {
  const isZipped = !file.isCompressed && acceptsGzip(request)
  const headers = {
    ...baseHeaders,
    'content-type': file.contentType,
    'content-disposition': `attachment; filename="${file.name}"`,
    'cache-control': 'no-store',
    vary: `${privateHeaders.vary}, Accept-Encoding`,
    'x-request-id': requestId(),
    ...(isZipped && { 'content-encoding': 'gzip' }),
    ...file.headers,
  }
  if (request.method === 'HEAD') {
    void file.close()
    return new Response(null, { headers })
  }
  const bytes = (isZipped ? zipped(file.chunks) : encoded(file.chunks))[Symbol.asyncIterator]()
  return new Response(streamOf(request, bytes, file, limitMs), { headers })
}

type Bytes = Uint8Array<ArrayBuffer>

async function* encoded(chunks: File['chunks']): AsyncGenerator<Bytes, void, void> {
  const encoder = new TextEncoder()
  for await (const chunk of chunks) yield typeof chunk === 'string' ? encoder.encode(chunk) : (chunk as Bytes)
}

const zipped = (chunks: File['chunks']): AsyncIterable<Bytes> =>
  pipeline(encoded(chunks), createGzip({ level: 3, chunkSize: 65_536 }), () => {})

function streamOf(
  { signal }: Request,
  bytes: AsyncIterator<Bytes>,
  { close, failed }: File,
  limitMs: { stall: number; all: number },
): ReadableStream<Bytes> {
  let stalled: ReturnType<typeof setTimeout> | undefined
  let stream: ReadableStreamDefaultController<Bytes>
  let isEnded = false
  const end = async () => {
    if (isEnded) return
    isEnded = true
    clearTimeout(stalled)
    clearTimeout(tooLong)
    signal.removeEventListener('abort', end)
    // Waits for a read that is in progress.
    await bytes.return?.()
    await close()
  }
  const fail = (error: unknown) => {
    if (isEnded) return
    failed(error)
    stream.error(error)
    void end()
  }
  const cutOff = (ms: number, what: string) =>
    setTimeout(() => fail(new Error(`The client ${what} within ${ms / 1_000} s`)), ms)
  const tooLong = cutOff(limitMs.all, 'did not receive the file')
  signal.addEventListener('abort', end, { once: true })
  return new ReadableStream<Bytes>(
    {
      start: (controller) => void (stream = controller),
      async pull(controller) {
        clearTimeout(stalled)
        try {
          const { value, done } = await bytes.next()
          if (isEnded) return
          if (!done) {
            stalled = cutOff(limitMs.stall, 'received nothing')
            return controller.enqueue(value)
          }
          await end()
          controller.close()
        } catch (error) {
          fail(error)
        }
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  )
}
