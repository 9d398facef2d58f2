/** A queue in which accounts take turns: one that had its turn goes behind all others. */
export class RoundRobin<T> {
  private readonly lines = new Map<string, T[]>()

  add(accountId: string, item: T): void {
    const line = this.lines.get(accountId)
    if (line) line.push(item)
    else this.lines.set(accountId, [item])
  }

  hasOther(accountId: string): boolean {
    return this.lines.size > (this.lines.has(accountId) ? 1 : 0)
  }

  next(): T | undefined {
    for (const [accountId, line] of this.lines) {
      this.lines.delete(accountId)
      const item = line.shift()
      if (line.length > 0) this.lines.set(accountId, line)
      return item
    }
    return undefined
  }
}
