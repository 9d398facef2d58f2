const [sync, query, flush] = [0x53, 0x51, 0x48]
const ready = 0x5a
/** RowDescription, NoData, ErrorResponse. */
const describes = [0x54, 0x6e, 0x45]

/**
 * What Postgres owes on one connection, counted from the heads of the messages of its protocol: a greeting is
 * answered by the first ReadyForQuery, each Sync and simple Query by another one, a Flush by a description.
 */
export class Debt {
  private answers = 1
  private description = false
  /** Of the message being received: its type, bytes of its body to come, and its head as far as it is here. */
  private type = 0
  private body = 0
  private head: number[] = []

  get isOwed(): boolean {
    return this.answers > 0 || this.description
  }

  /** postgres.js writes whole messages; the greeting alone has no type. */
  wrote(chunk: Buffer): void {
    for (let at = 0; at + 5 <= chunk.length && chunk[at] !== 0; at += 1 + lengthAt(chunk, at + 1)) {
      if (chunk[at] === sync || chunk[at] === query) this.answers++
      else if (chunk[at] === flush) this.description = true
    }
  }

  heard(chunk: Buffer): void {
    let at = this.pass(chunk, 0)
    // Rows by the hundred pass here: nothing is looked at but heads, and those as bytes.
    while (at + 5 <= chunk.length && this.body === 0 && this.head.length === 0) {
      this.type = chunk[at]!
      this.body = lengthAt(chunk, at + 1) - 4
      at = this.pass(chunk, at + 5)
    }
    while (at < chunk.length) at = this.passHead(chunk, at)
  }

  /** Goes on in a message's body; what it was counts at its end. */
  private pass(chunk: Buffer, at: number): number {
    const passed = Math.min(this.body, chunk.length - at)
    this.body -= passed
    if (this.body === 0) this.settle()
    return at + passed
  }

  /** A head that is cut into two chunks. */
  private passHead(chunk: Buffer, at: number): number {
    if (this.head.push(chunk[at]!) < 5) return at + 1
    this.type = this.head[0]!
    this.body = lengthAt(this.head, 1) - 4
    this.head.length = 0
    this.heard(chunk.subarray(at + 1))
    return chunk.length
  }

  private settle(): void {
    if (this.type === ready) this.answers = Math.max(0, this.answers - 1)
    // A Flush is the last thing written until it is answered.
    else if (this.description && this.answers === 0 && describes.includes(this.type)) this.description = false
    this.type = 0
  }
}

const lengthAt = (bytes: ArrayLike<number>, at: number): number =>
  (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!
