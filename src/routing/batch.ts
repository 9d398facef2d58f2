/** A larger item is sent in a message of its own. */
const maxMessageBytes = 1_048_576

export class Batch<T extends { bytes: number }> {
  bytes = 0
  private items: T[] = []

  /** @param isOpen while it returns false, items wait for `flush` */
  constructor(
    private readonly send: (items: T[]) => void,
    private readonly isOpen = () => true,
  ) {}

  get length(): number {
    return this.items.length
  }

  add(item: T): void {
    if (this.items.length === 0) setImmediate(() => this.flush())
    this.items.push(item)
    this.bytes += item.bytes
  }

  flush(): void {
    if (!this.isOpen()) return
    let message: T[] = []
    let bytes = 0
    for (const item of this.drain()) {
      if (bytes > 0 && bytes + item.bytes > maxMessageBytes) {
        this.send(message)
        message = []
        bytes = 0
      }
      message.push(item)
      bytes += item.bytes
    }
    if (bytes > 0) this.send(message)
  }

  drain(): T[] {
    const items = this.items
    this.items = []
    this.bytes = 0
    return items
  }
}
