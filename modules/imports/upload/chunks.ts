import { badRequest } from '../../../src/responses/errors.ts'
import { tooLarge } from '../../../src/http/json-body.ts'

const chunkBytes = 262_144

export const emptyFile = () => badRequest('The file is empty')
export const zipArchive = () => badRequest('The file is a ZIP archive: unpack it, and send the file in it')

const zipStart = [0x50, 0x4b, 0x03, 0x04]
const isZip = (bytes: Uint8Array): boolean => zipStart.every((byte, n) => bytes[n] === byte)

type Store = (n: number, bytes: Uint8Array) => Promise<void>

/** Cuts a file into chunks and stores them one after another, so that at most one chunk is in memory. */
export class ChunkWriter {
  private readonly chunk = new Uint8Array(chunkBytes)
  private size = 0
  private n = 0

  constructor(
    private readonly limitBytes: number,
    private readonly store: Store,
  ) {}

  /** @throws HttpError 413 if the file exceeds the limit */
  async write(bytes: Uint8Array): Promise<void> {
    if (this.n * chunkBytes + this.size + bytes.length > this.limitBytes) throw tooLarge(this.limitBytes)
    for (let at = 0; at < bytes.length;) {
      const part = bytes.subarray(at, at + chunkBytes - this.size)
      this.chunk.set(part, this.size)
      this.size += part.length
      at += part.length
      if (this.size === chunkBytes) await this.flush()
    }
  }

  /** @throws HttpError 400 if the file is empty */
  async end(): Promise<void> {
    if (this.size > 0) await this.flush()
    if (this.n === 0) throw emptyFile()
  }

  private async flush(): Promise<void> {
    const bytes = this.chunk.subarray(0, this.size)
    if (this.n === 0 && isZip(bytes)) throw zipArchive()
    await this.store(this.n++, bytes)
    this.size = 0
  }
}
