import type { Subscription } from './subscription.ts'

/** How many events a stream has not sent yet, and how long it has been behind. Computed when the metrics are read. */
class Lag {
  private version = 0
  private since = 0

  constructor(
    private readonly subscription: Pick<Subscription, 'notified'>,
    private position: number,
  ) {}

  update(position: number, version: number): void {
    this.position = position
    this.version = version
    this.since = this.events > 0 ? this.since || performance.now() : 0
  }

  get events(): number {
    return Math.max(0, this.version - this.position, this.subscription.notified - this.position)
  }

  get seconds(): number {
    if (this.events === 0) return 0
    this.since ||= performance.now()
    return (performance.now() - this.since) / 1_000
  }
}

export class Lags {
  private readonly all = new Set<Lag>()

  /** @param signal aborts when the stream ends. @param position the seq after which the stream begins */
  track(signal: AbortSignal, subscription: Pick<Subscription, 'notified'>, position: number): Lag {
    const lag = new Lag(subscription, position)
    if (signal.aborted) return lag
    this.all.add(lag)
    signal.addEventListener('abort', () => this.all.delete(lag), { once: true })
    return lag
  }

  worst(): { streams: number; events: number; seconds: number } {
    const all = [...this.all]
    const worst = (of: (lag: Lag) => number) => all.reduce((max, lag) => Math.max(max, of(lag)), 0)
    return { streams: all.length, events: worst((lag) => lag.events), seconds: worst((lag) => lag.seconds) }
  }
}
