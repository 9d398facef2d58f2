import type { Following } from './following.ts'

/** The events that a stream has not sent yet, and since when. Counted when it is read: a blocked stream counts nothing. */
class Lag {
  private version = 0
  private since = 0

  constructor(
    private readonly notified: Pick<Following, 'beyond'>,
    private position: number,
  ) {}

  at(position: number, version: number): void {
    this.position = position
    this.version = version
    this.since = this.events > 0 ? this.since || performance.now() : 0
  }

  get events(): number {
    return Math.max(0, this.version - this.position, this.notified.beyond - this.position)
  }

  get seconds(): number {
    if (this.events === 0) return 0
    this.since ||= performance.now()
    return (performance.now() - this.since) / 1_000
  }
}

export class Lags {
  private readonly all = new Set<Lag>()

  /** Of a stream that begins after a position, and is open until the signal comes. */
  begin(signal: AbortSignal, notified: Pick<Following, 'beyond'>, position: number): Lag {
    const lag = new Lag(notified, position)
    if (signal.aborted) return lag
    this.all.add(lag)
    signal.addEventListener('abort', () => this.all.delete(lag), { once: true })
    return lag
  }

  worst(): { streams: number; events: number; seconds: number } {
    const all = [...this.all]
    const worst = (of: (lag: Lag) => number) => all.reduce((most, lag) => Math.max(most, of(lag)), 0)
    return { streams: all.length, events: worst((lag) => lag.events), seconds: worst((lag) => lag.seconds) }
  }
}
