const [sync, query, flush] = [0x53, 0x51, 0x48]
const [ready, error, rowDescription, noData] = [0x5a, 0x45, 0x54, 0x6e]

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
    for (let at = 0; at + 5 <= chunk.length && chunk[at] !== 0; at += 1 + chunk.readInt32BE(at + 1)) {
      if (chunk[at] === sync || chunk[at] === query) this.answers++
      else if (chunk[at] === flush) this.description = true
    }
  }

  heard(chunk: Buffer): void {
    for (let at = 0; at < chunk.length;) {
      if (this.body > 0) {
        const passed = Math.min(this.body, chunk.length - at)
        this.body -= passed
        at += passed
      } else if (this.head.length === 0 && at + 5 <= chunk.length) {
        this.type = chunk[at]!
        this.body = chunk.readInt32BE(at + 1) - 4
        at += 5
      } else {
        at = this.readHead(chunk, at)
        if (this.head.length > 0) return
      }
      if (this.body === 0) this.settle()
    }
  }

  /** A head that is cut into two chunks. */
  private readHead(chunk: Buffer, start: number): number {
    let at = start
    while (this.head.length < 5 && at < chunk.length) this.head.push(chunk[at++]!)
    if (this.head.length === 5) {
      const head = Buffer.from(this.head)
      this.type = head[0]!
      this.body = head.readInt32BE(1) - 4
      this.head.length = 0
    }
    return at
  }

  private settle(): void {
    if (this.type === ready) this.answers = Math.max(0, this.answers - 1)
    // A Flush is the last thing written until it is answered.
    else if (this.answers === 0 && [rowDescription, noData, error].includes(this.type))
      this.description = false
  }
}
