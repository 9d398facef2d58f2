/** A message grows up to this size. */
const fullBytes = 1_048_576

/** Collects what is added in one turn of the event loop, and sends it in messages of bounded size. */
export class Batch<T extends { bytes: number }> {
  bytes = 0
  private items: T[] = []
  private isScheduled = false
  private maxBytes = 0

  /** An item that is larger than a message is sent alone. */
  constructor(private readonly send: (items: T[]) => void) {}

  get length(): number {
    return this.items.length
  }

  add(item: T): void {
    this.items.push(item)
    this.bytes += item.bytes
    this.schedule()
  }

  /** Nothing is sent before. */
  open(maxBytes: number): void {
    this.maxBytes = Math.min(maxBytes, fullBytes)
    this.schedule()
  }

  /** Removes and returns what is not sent yet. */
  take(): T[] {
    const items = this.items
    this.items = []
    this.bytes = 0
    return items
  }

  private schedule(): void {
    if (this.isScheduled || this.maxBytes === 0) return
    this.isScheduled = true
    setImmediate(() => this.flush())
  }

  private flush(): void {
    this.isScheduled = false
    const items = this.take()
    let [from, bytes] = [0, 0]
    for (const [at, item] of items.entries()) {
      if (at > from && bytes + item.bytes > this.maxBytes) {
        this.send(items.slice(from, at))
        ;[from, bytes] = [at, 0]
      }
      bytes += item.bytes
    }
    if (from < items.length) this.send(from > 0 ? items.slice(from) : items)
  }
}
