import { LRUCache } from 'lru-cache'

export const slowMs = 1_000
/** Slow deliveries cost little, so their limit is this many times the limit of fast deliveries. */
const slowFactor = 5

/** Slow or failing webhooks have a queue and a limit of their own, so they never delay other webhooks. */
export class DeliveryQueues {
  private readonly slow = new LRUCache<string, true>({ max: 100_000 })
  private readonly running = { fast: new Set<string>(), slow: new Set<string>() }
  private readonly waiting = { fast: new Set<string>(), slow: new Set<string>() }

  constructor(
    fast: number,
    private readonly limits = { fast, slow: fast * slowFactor },
  ) {}

  add = (id: string) => void this.waiting[this.slow.has(id) ? 'slow' : 'fast'].add(id)

  startNext = (): string[] => [...this.startFrom('fast'), ...this.startFrom('slow')]

  /** Returns false at the limit of slow deliveries: the caller must then abort the delivery. */
  moveToSlow(id: string): boolean {
    if (!this.running.fast.has(id)) return true
    this.slow.set(id, true)
    if (this.running.slow.size >= this.limits.slow) return false
    this.running.fast.delete(id)
    this.running.slow.add(id)
    return true
  }

  recordSpeed(id: string, isFast: boolean): void {
    if (isFast) this.slow.delete(id)
    else this.slow.set(id, true)
  }

  finish(id: string): void {
    for (const ids of Object.values(this.running)) ids.delete(id)
  }

  private startFrom(queue: 'fast' | 'slow'): string[] {
    const [waiting, running] = [this.waiting[queue], this.running[queue]]
    const ids = [...waiting.values().take(Math.max(0, this.limits[queue] - running.size))]
    for (const id of ids) if (waiting.delete(id)) running.add(id)
    return ids
  }
}
