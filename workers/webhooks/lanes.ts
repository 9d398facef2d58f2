/** An attempt that takes longer is a slow one. */
export const slowMs = 1_000
/** Of slow ones so many times as many may be under way. */
const slowShare = 5
const mostRemembered = 100_000

/**
 * Says who may be delivered to now. Who was slow, or failed, has a lane apart; who turns out to be slow goes over to it.
 * So whoever hangs takes no place of those who answer.
 */
export class Lanes {
  private readonly slow = new Set<string>()
  private readonly under = { quick: new Set<string>(), slow: new Set<string>() }
  private readonly waiting = { quick: new Set<string>(), slow: new Set<string>() }

  constructor(private readonly width: number) {}

  wait(id: string): void {
    this.waiting[this.laneOf(id)].add(id)
  }

  /** Those whose turn it is; they are under way from now on. */
  next(): string[] {
    return [...this.nextIn('quick', this.width), ...this.nextIn('slow', this.width * slowShare)]
  }

  /** It takes long: it goes over to the slow ones. False where they have no room: then it is to end, and wait among them. */
  goesOn(id: string): boolean {
    if (!this.under.quick.has(id)) return true
    this.remember(id)
    if (this.under.slow.size >= this.width * slowShare) return false
    this.under.quick.delete(id)
    this.under.slow.add(id)
    return true
  }

  /** Which lane it waits in from now on. */
  judge(id: string, wasGood: boolean): void {
    if (wasGood) this.slow.delete(id)
    else this.remember(id)
  }

  leave(id: string): void {
    this.under.quick.delete(id)
    this.under.slow.delete(id)
  }

  private nextIn(lane: 'quick' | 'slow', most: number): string[] {
    const ids: string[] = []
    for (const id of this.waiting[lane]) {
      if (this.under[lane].size >= most) break
      this.waiting[lane].delete(id)
      this.under[lane].add(id)
      ids.push(id)
    }
    return ids
  }

  private laneOf = (id: string) => (this.slow.has(id) ? 'slow' : 'quick')

  private remember(id: string): void {
    if (this.slow.size < mostRemembered) this.slow.add(id)
  }
}
