/** How much faster or slower than ours another clock runs, at most: more than any that is being corrected. */
const drift = 0.002

/**
 * Another process's clock, as ours shows it: never ahead of what it truly shows, so that a deadline told in its time is
 * never too late. It is known from what was heard, which had shown less when it arrived than the clock did by then.
 */
export class TheirClock {
  private aheadMs = -Infinity
  private heardAt = 0

  heard(theirs: number, now: number): void {
    this.aheadMs = Math.max(theirs - now, this.aheadBy(now))
    this.heardAt = now
  }

  /** How far it is ahead of ours, at least. */
  aheadBy(now: number): number {
    return this.aheadMs - (now - this.heardAt) * drift
  }
}
