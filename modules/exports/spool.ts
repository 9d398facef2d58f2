import { randomUUID } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { errorCode } from '../../src/postgres/errors.ts'
import { unavailable } from '../../src/responses/errors.ts'
import { chunkBytes, type Chunks } from './response.ts'

/**
 * The maximum number of bytes that a writer is ahead of its reader. With the limit of concurrent downloads, temporary
 * files take at most 4 GiB.
 */
const maxAheadBytes = 67_108_864
/** A writer that has waited this long for its client ends if another export waits for a place. */
const maxHeldMs = 30_000

function noTemporaryFile(reason: string) {
  const advice = ['ENOSPC', 'EDQUOT'].includes(reason) ? 'free space in' : 'make writable'
  return unavailable(
    `The service cannot store a temporary file (${reason}); its operator must ${advice} the folder of TMPDIR`,
  )
}

/** `isWanted` is true if another export waits for a place. */
type Wanted = Readonly<{ isWanted: boolean }>

/**
 * A temporary file between a writer and a reader, which read and write at the same time. The writer uses the space again
 * that the reader has read. The file has no name: the system removes the file even if this process is killed.
 */
export class Spool {
  private written = 0
  private read = 0
  private state: 'writing' | 'complete' | 'closed' | { error: unknown } = 'writing'
  private changed = Promise.withResolvers<void>()
  private filling: Promise<void> = Promise.resolve()

  private constructor(
    private readonly file: FileHandle,
    private readonly places: Wanted,
    private readonly max: number,
    private readonly maxHeldMs: number,
  ) {}

  /**
   * Writes to the file once, because the disk may be full. The first bytes of the export replace these bytes.
   * @throws HttpError 503 without a temporary file
   */
  static async open(
    places: Wanted,
    { aheadBytes = maxAheadBytes, heldMs = maxHeldMs }: { aheadBytes?: number; heldMs?: number } = {},
  ): Promise<Spool> {
    const path = join(tmpdir(), `docket-export-${randomUUID()}`)
    let file: FileHandle | undefined
    try {
      file = await open(path, 'wx+', 0o600)
      await unlink(path)
      await file.writeFile(new Uint8Array(chunkBytes))
      return new Spool(file, places, aheadBytes, heldMs)
    } catch (error) {
      await file?.close()
      throw noTemporaryFile(errorCode(error))
    }
  }

  /** Stores all bytes. The reader throws an error of `bytes`; this function does not. */
  fill(bytes: Chunks): Promise<void> {
    this.filling = this.storeAll(bytes).then(
      () => this.enter('complete'),
      (error: unknown) => this.enter({ error }),
    )
    return this.filling
  }

  async *chunks(): Chunks {
    for (;;) {
      const { changed } = this
      const length = Math.min(chunkBytes, this.written - this.read, this.max - (this.read % this.max))
      if (typeof this.state === 'object') throw this.state.error
      if (this.state === 'closed' || (this.state === 'complete' && length === 0)) return
      if (length === 0) {
        await changed.promise
        continue
      }
      const bytes = new Uint8Array(length)
      const { bytesRead } = await this.file.read(bytes, 0, length, this.read % this.max)
      if (bytesRead === 0) throw new Error('A temporary file is shorter than the written bytes')
      this.read += bytesRead
      this.notify()
      yield bytes.subarray(0, bytesRead)
    }
  }

  async close(): Promise<void> {
    this.enter('closed')
    await this.filling
    await this.file.close()
  }

  private async storeAll(bytes: Chunks): Promise<void> {
    let heldMs = 0
    for await (const chunk of bytes)
      for (let from = 0; from < chunk.length;) {
        heldMs = await this.waitForSpace(heldMs)
        const space = Math.min(this.max - (this.written - this.read), this.max - (this.written % this.max))
        const length = Math.min(space, chunk.length - from)
        const { bytesWritten } = await this.file.write(chunk, from, length, this.written % this.max)
        from += bytesWritten
        this.written += bytesWritten
        this.notify()
      }
  }

  /**
   * @param heldMs how long the writer has waited in total
   * @returns the total after this wait
   * @throws if the export must end
   */
  private async waitForSpace(heldMs: number): Promise<number> {
    for (let held = heldMs; ;) {
      if (this.state === 'closed') throw new Error('The client has gone')
      if (this.written - this.read < this.max) return held
      if (held > this.maxHeldMs && this.places.isWanted)
        throw new Error('The client receives the file too slowly while other exports wait')
      const since = performance.now()
      await this.changed.promise
      held += performance.now() - since
    }
  }

  /** A closed spool stays closed. */
  private enter(state: Spool['state']): void {
    if (this.state !== 'closed') this.state = state
    this.notify()
  }

  private notify(): void {
    this.changed.resolve()
    this.changed = Promise.withResolvers()
  }
}
