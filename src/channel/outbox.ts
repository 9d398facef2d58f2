/** A frame is not made longer than this by adding to it. */
const fullBytes = 1_048_576

/** Gathers what is given in one turn of the event loop, and hands it on in frames of bounded size. */
export class Outbox<T extends { bytes: number }> {
  /** Together, while they wait. */
  bytes = 0
  private waiting: T[] = []
  private isDue = false
  private frameBytes = 0

  /** What alone is too large comes alone. */
  constructor(private readonly send: (frame: T[]) => void) {}

  get length(): number {
    return this.waiting.length
  }

  add(one: T): void {
    this.waiting.push(one)
    this.bytes += one.bytes
    this.flushSoon()
  }

  /** Nothing is handed on before. */
  open(frameBytes: number): void {
    this.frameBytes = Math.min(frameBytes, fullBytes)
    this.flushSoon()
  }

  /** Takes back what was not handed on. */
  empty(): T[] {
    const all = this.waiting
    this.waiting = []
    this.bytes = 0
    return all
  }

  private flushSoon(): void {
    if (this.isDue || this.frameBytes === 0) return
    this.isDue = true
    setImmediate(() => this.flush())
  }

  private flush(): void {
    this.isDue = false
    let frame: T[] = []
    let bytes = 0
    for (const one of this.empty()) {
      if (bytes + one.bytes > this.frameBytes && frame.length > 0) {
        this.send(frame)
        frame = []
        bytes = 0
      }
      frame.push(one)
      bytes += one.bytes
    }
    if (frame.length > 0) this.send(frame)
  }
}
