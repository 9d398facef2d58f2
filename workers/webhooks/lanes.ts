import { LRUCache } from 'lru-cache'

/** A delivery that takes longer is slow. */
export const slowMs = 1_000
/** The slow lane is so many times as wide as the quick one. */
const slowShare = 5

/** Gives webhooks their turns. Those that were slow, or failed, have a lane apart: they take no place of those that answer. */
export class Lanes {
  private readonly slow = new LRUCache<string, true>({ max: 100_000 })
  private readonly under = { quick: new Set<string>(), slow: new Set<string>() }
  private readonly waiting = { quick: new Set<string>(), slow: new Set<string>() }

  constructor(
    quick: number,
    private readonly widths = { quick, slow: quick * slowShare },
  ) {}

  wait = (id: string) => void this.waiting[this.slow.has(id) ? 'slow' : 'quick'].add(id)

  next = (): string[] => [...this.nextIn('quick'), ...this.nextIn('slow')]

  /** Moves a delivery that takes long to the slow lane. False when that is full: the delivery must end, and wait there. */
  goesOn(id: string): boolean {
    if (!this.under.quick.has(id)) return true
    this.slow.set(id, true)
    if (this.under.slow.size >= this.widths.slow) return false
    this.under.quick.delete(id)
    this.under.slow.add(id)
    return true
  }

  judge(id: string, wasGood: boolean): void {
    if (wasGood) this.slow.delete(id)
    else this.slow.set(id, true)
  }

  leave(id: string): void {
    for (const lane of Object.values(this.under)) lane.delete(id)
  }

  private nextIn(lane: 'quick' | 'slow'): string[] {
    const [waiting, under] = [this.waiting[lane], this.under[lane]]
    const ids = [...waiting.values().take(Math.max(0, this.widths[lane] - under.size))]
    for (const id of ids) if (waiting.delete(id)) under.add(id)
    return ids
  }
}
