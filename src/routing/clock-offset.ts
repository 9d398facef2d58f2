/** Clocks corrected by NTP drift less. */
const maxDrift = 0.002

/** Estimates how far another clock is ahead, never too high. Latency lowers each measurement, so the highest wins. */
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
