/** What a stream was not sent yet, of what is known to be there, and since when. */
export class Lag {
  private behind = 0
  private since = 0

  at(position: number, version: number): void {
    this.behind = Math.max(0, version - position)
    if (this.behind === 0) this.since = 0
    else this.since ||= performance.now()
  }

  get events(): number {
    return this.behind
  }

  get seconds(): number {
    return this.since === 0 ? 0 : (performance.now() - this.since) / 1_000
  }
}

/** The streams that are open, and how far the last of them is behind. */
export class Lags {
  private readonly all = new Set<Lag>()

  /** Of a stream that is open until the signal comes. */
  begin(signal: AbortSignal): Lag {
    const lag = new Lag()
    if (signal.aborted) return lag
    this.all.add(lag)
    signal.addEventListener('abort', () => this.all.delete(lag), { once: true })
    return lag
  }

  worst(): { streams: number; events: number; seconds: number } {
    let [events, seconds] = [0, 0]
    for (const lag of this.all) {
      events = Math.max(events, lag.events)
      seconds = Math.max(seconds, lag.seconds)
    }
    return { streams: this.all.size, events, seconds }
  }
}
