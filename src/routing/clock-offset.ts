/** Upper limit of the drift between two clocks, more than between any two that are being corrected. */
const drift = 0.002

/**
 * How far another process's clock is ahead of this one's, never overestimated: a deadline converted with it is never too
 * late. The other clock has moved on since it sent its time, so the highest offset seen is the best.
 */
export class ClockOffset {
  private aheadMs = -Infinity
  private receivedAt = 0

  receive(theirs: number, now: number): void {
    this.aheadMs = Math.max(theirs - now, this.at(now))
    this.receivedAt = now
  }

  at(now: number): number {
    return this.aheadMs - (now - this.receivedAt) * drift
  }
}
