/** A queue that alternates between accounts: after each item the account moves behind all others. */
export class RoundRobin<T> {
  private readonly queues = new Map<string, T[]>()

  add(accountId: string, item: T): void {
    const line = this.queues.get(accountId)
    if (line) line.push(item)
    else this.queues.set(accountId, [item])
  }

  hasOther(accountId: string): boolean {
    return this.queues.size > (this.queues.has(accountId) ? 1 : 0)
  }

  next(): T | undefined {
    for (const [accountId, line] of this.queues) {
      this.queues.delete(accountId)
      const item = line.shift()
      if (line.length > 0) this.queues.set(accountId, line)
      return item
    }
    return undefined
  }
}
