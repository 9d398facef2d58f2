import { privateHeaders } from '../../src/responses/errors.ts'
import { type Bytes, type Chunks, encoded, unzipped } from './bytes.ts'
import { acceptsGzip, baseHeaders, requestId } from '../../src/responses/reply.ts'

/** The connection of a client that receives nothing for this time is closed. */
const maxStallMs = 30_000
/** The longest time of an export: an open transaction prevents Postgres from removing old rows. */
const maxMs = 1_800_000

export interface FileInfo {
  name: string
  contentType: string
  /** True if the client gets the compressed file in any case. */
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
  limitMs: LimitMs = { stall: maxStallMs, all: maxMs },
): Response {
  const bytes = (isZipped(request, file) || file.isCompressed ? encoded : unzipped)(file.chunks)
  return new Response(streamOf(request, bytes, file, limitMs), { headers: fileHeaders(request, file) })
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

type LimitMs = { stall: number; all: number }

/** Ends the response once: when it is complete, after an error, after a disconnect, or when a limit is exceeded. */
class Ending {
  isEnded = false
  private readonly timers = new Map<keyof LimitMs, ReturnType<typeof setTimeout>>()

  constructor(
    private readonly signal: AbortSignal,
    private readonly bytes: AsyncIterator<Bytes>,
    private readonly file: Pick<File, 'close' | 'failed'>,
    private readonly limitMs: LimitMs,
    private readonly breakOff: (error: unknown) => void,
  ) {
    signal.addEventListener('abort', this.end, { once: true })
    this.begin('all')
  }

  begin(limit: keyof LimitMs): void {
    const ms = this.limitMs[limit]
    const error = new Error(
      `The client did not receive ${limit === 'all' ? 'the file' : 'more'} within ${ms / 1_000} s`,
    )
    this.stop(limit)
    this.timers.set(
      limit,
      setTimeout(() => this.fail(error), ms),
    )
  }

  stop(limit: keyof LimitMs): void {
    clearTimeout(this.timers.get(limit))
  }

  readonly end = async (): Promise<void> => {
    if (this.isEnded) return
    this.isEnded = true
    this.stop('stall')
    this.stop('all')
    this.signal.removeEventListener('abort', this.end)
    // `return` waits for a read in progress, which `close` ends.
    await Promise.all([this.file.close(), this.bytes.return?.()])
  }

  fail(error: unknown): void {
    if (this.isEnded) return
    this.file.failed(error)
    this.breakOff(error)
    void this.end()
  }
}

function streamOf(
  { signal }: Request,
  bytes: AsyncIterator<Bytes>,
  file: File,
  limitMs: LimitMs,
): ReadableStream<Bytes> {
  let ending: Ending
  return new ReadableStream<Bytes>(
    {
      start(controller) {
        ending = new Ending(signal, bytes, file, limitMs, (error) => controller.error(error))
      },
      async pull(controller) {
        ending.stop('stall')
        try {
          const { value, done } = await bytes.next()
          if (ending.isEnded) return
          if (done) {
            await ending.end()
            return controller.close()
          }
          ending.begin('stall')
          controller.enqueue(value)
        } catch (error) {
          ending.fail(error)
        }
      },
      cancel: () => ending.end(),
    },
    { highWaterMark: 0 },
  )
}
