/** A queue that alternates between accounts: after each item the account moves behind all others. */
export class RoundRobin<T> {
  private readonly queues = new Map<string, T[]>()

  add(accountId: string, item: T): void {
    const queue = this.queues.get(accountId)
    if (queue) queue.push(item)
    else this.queues.set(accountId, [item])
  }

  hasOther(accountId: string): boolean {
    return this.queues.size > (this.queues.has(accountId) ? 1 : 0)
  }

  next(): T | undefined {
    for (const [accountId, queue] of this.queues) {
      this.queues.delete(accountId)
      const item = queue.shift()
      if (queue.length > 0) this.queues.set(accountId, queue)
      return item
    }
    return undefined
  }
}
