/** Upper limit of one message; a larger item is sent alone. */
const fullBytes = 1_048_576

/** Collects what is added in one turn of the event loop, and sends it in as few messages as possible. */
export class Batch<T extends { bytes: number }> {
  bytes = 0
  private items: T[] = []

  /** While `isOpen` is false, items wait. */
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
    for (const item of this.take()) {
      if (bytes > 0 && bytes + item.bytes > fullBytes) {
        this.send(message)
        message = []
        bytes = 0
      }
      message.push(item)
      bytes += item.bytes
    }
    if (bytes > 0) this.send(message)
  }

  take(): T[] {
    const items = this.items
    this.items = []
    this.bytes = 0
    return items
  }
}
