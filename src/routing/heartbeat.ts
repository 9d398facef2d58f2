const idleMs = 5_000
const pendingMs = 500
const lostMs = 1_500

/** Decides when a silent connection needs a heartbeat, and when it is lost. */
export class Heartbeat {
  private quietMs = 0
  private sentAtMs: number | undefined

  received(): void {
    this.quietMs = 0
    this.sentAtMs = undefined
  }

  tick(ms: number, isPending: boolean): 'send' | 'lost' | undefined {
    this.quietMs += ms
    if (this.sentAtMs !== undefined) return this.quietMs >= this.sentAtMs + lostMs ? 'lost' : undefined
    if (this.quietMs < (isPending ? pendingMs : idleMs)) return undefined
    this.sentAtMs = this.quietMs
    return 'send'
  }
}
