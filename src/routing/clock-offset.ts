/** Clocks corrected by NTP drift less. */
const maxDrift = 0.002

/**
 * How far another clock is ahead, and never more: latency makes each measured offset too low, so the highest is best.
 */
export class ClockOffset {
  private aheadMs = -Infinity
  private receivedAt = 0

  update(theirs: number, now: number): void {
    this.aheadMs = Math.max(theirs - now, this.at(now))
    this.receivedAt = now
  }

  at(now: number): number {
    return this.aheadMs - (now - this.receivedAt) * maxDrift
  }
}
