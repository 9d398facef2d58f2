import { LRUCache } from 'lru-cache'

/** A delivery that takes longer is slow. */
export const slowMs = 1_000
/** The slow lane is so many times as wide as the quick one. */
const slowShare = 5
const mostRemembered = 100_000

/** Gives webhooks their turns. Those that were slow, or failed, have a lane apart: they take no place of those that answer. */
export class Lanes {
  private readonly slow = new LRUCache<string, true>({ max: mostRemembered })
  private readonly under = { quick: new Set<string>(), slow: new Set<string>() }
  private readonly waiting = { quick: new Set<string>(), slow: new Set<string>() }

  constructor(private readonly width: number) {}

  wait(id: string): void {
    this.waiting[this.slow.has(id) ? 'slow' : 'quick'].add(id)
  }

  next(): string[] {
    return [...this.nextIn('quick', this.width), ...this.nextIn('slow', this.width * slowShare)]
  }

  /** Moves a delivery that takes long to the slow lane. False when that is full: the delivery must end, and wait there. */
  goesOn(id: string): boolean {
    if (!this.under.quick.has(id)) return true
    this.slow.set(id, true)
    if (this.under.slow.size >= this.width * slowShare) return false
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

  private nextIn(lane: 'quick' | 'slow', most: number): string[] {
    const [waiting, under] = [this.waiting[lane], this.under[lane]]
    const ids = waiting
      .values()
      .take(Math.max(0, most - under.size))
      .toArray()
    for (const id of ids) {
      waiting.delete(id)
      under.add(id)
    }
    return ids
  }
}
