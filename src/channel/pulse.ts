/** Nothing heard for so long: a ping asks for a sign of life. Sooner when somebody waits for an answer. */
const restingMs = 5_000
const waitingMs = 500
/** How long the sign may take. */
const signMs = 1_500

/** Tells when the other side is silent, in ticks of this process: what it has slept through itself does not count. */
export class Pulse {
  private quietMs = 0
  private owedMs = 0
  private isOwed = false

  heard(): void {
    this.quietMs = this.owedMs = 0
    this.isOwed = false
  }

  tick(tickMs: number, isWaiting: boolean): 'ping' | 'lost' | undefined {
    this.quietMs += tickMs
    if (this.isOwed) {
      this.owedMs += tickMs
      return this.owedMs >= signMs ? 'lost' : undefined
    }
    if (this.quietMs < (isWaiting ? waitingMs : restingMs)) return undefined
    this.isOwed = true
    return 'ping'
  }
}
