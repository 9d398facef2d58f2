const [sync, query, flush] = [0x53, 0x51, 0x48]
const [ready, error, rowDescription, noData] = [0x5a, 0x45, 0x54, 0x6e]

/**
 * What Postgres owes on one connection, counted from the heads of the messages of its protocol: a greeting is
 * answered by the first ReadyForQuery, each Sync and simple Query by another one, a Flush by a description.
 */
export class Debt {
  private answers = 1
  private description = false
  /** Of the message being received: bytes of its body to come, or its head as far as it is here. */
  private body = 0
  private head: number[] = []

  get isOwed(): boolean {
    return this.answers > 0 || this.description
  }

  /** postgres.js writes whole messages; the greeting alone has no type. */
  wrote(chunk: Buffer): void {
    for (let at = 0; at + 5 <= chunk.length && chunk[at] !== 0; at += 1 + chunk.readInt32BE(at + 1)) {
      if (chunk[at] === sync || chunk[at] === query) this.answers++
      else if (chunk[at] === flush) this.description = true
    }
  }

  heard(chunk: Buffer): void {
    let at = 0
    while (at < chunk.length) {
      const passed = Math.min(this.body, chunk.length - at)
      this.body -= passed
      at += passed
      while (this.body === 0 && this.head.length < 5 && at < chunk.length) this.head.push(chunk[at++]!)
      if (this.head.length === 5) this.begin()
    }
  }

  private begin(): void {
    const [type, a, b, c, d] = this.head as [number, number, number, number, number]
    this.body = ((a << 24) | (b << 16) | (c << 8) | d) - 4
    this.head.length = 0
    if (type === ready) this.answers = Math.max(0, this.answers - 1)
    // A Flush is the last thing written until it is answered.
    else if (this.answers === 0 && (type === rowDescription || type === noData || type === error))
      this.description = false
  }
}
