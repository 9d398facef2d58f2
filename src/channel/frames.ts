const headBytes = 5

export interface Frame {
  kind: number
  body: Buffer
}

/** A frame as it travels: length of the body, kind, body. */
export function encodeFrame(kind: number, body: string | Uint8Array = ''): Buffer {
  const isText = typeof body === 'string'
  const bytes = isText ? Buffer.byteLength(body) : body.length
  const frame = Buffer.allocUnsafe(headBytes + bytes)
  frame.writeUInt32BE(bytes, 0)
  frame[4] = kind
  if (isText) frame.write(body, headBytes)
  else frame.set(body, headBytes)
  return frame
}

/** Finds the frames in a stream of bytes, however it is cut. */
export class FrameReader {
  private parts: Buffer[] = []
  private bytes = 0
  private wanted = headBytes

  /** May be raised between frames. */
  constructor(public mostBytes: number) {}

  push(chunk: Buffer): void {
    this.parts.push(chunk)
    this.bytes += chunk.length
  }

  /**
   * The next whole frame.
   * @throws Error when its length is out of bounds, before anything of it is kept.
   */
  next(): Frame | undefined {
    if (this.bytes < this.wanted) return undefined
    const buffer = this.joined()
    const length = buffer.readUInt32BE(0)
    if (length > this.mostBytes)
      throw new Error(`a frame of ${length} bytes, at most ${this.mostBytes} allowed`)
    const end = headBytes + length
    if (buffer.length < end) {
      this.wanted = end
      return undefined
    }
    this.wanted = headBytes
    this.bytes -= end
    this.parts = this.bytes > 0 ? [buffer.subarray(end)] : []
    return { kind: buffer[4]!, body: buffer.subarray(headBytes, end) }
  }

  /** Joined only when a head or a body is whole, so nothing is copied more than twice. */
  private joined(): Buffer {
    if (this.parts.length > 1) this.parts = [Buffer.concat(this.parts)]
    return this.parts[0]!
  }
}
