/** Upper bound of the drift between two clocks: more than NTP-corrected clocks ever drift. */
const maxDrift = 0.002

/**
 * How far the clock of another process is ahead of this process's clock. The value is never too high, so a converted
 * deadline is never too late. Latency makes each measured offset too low, so the highest offset is the best estimate.
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
