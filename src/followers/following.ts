import type { Waiter } from './waiting.ts'

/** Notifies one reader of new versions: of those that come while the reader is busy, when it waits again. */
export class Following implements Waiter {
  private isInDoubt = false
  private resolve: ((version?: number) => void) | undefined
  private timer: ReturnType<typeof setTimeout> | undefined

  /** `beyond` is the last version that the reader was notified of. */
  constructor(
    public beyond: number,
    private readonly leave = () => {},
  ) {}

  /** A version beyond the known one; undefined when the version is in doubt, or the time is up. */
  moved(known: number, withinMs: number): Promise<number | undefined> {
    const { isInDoubt, beyond } = this
    this.isInDoubt = false
    if (isInDoubt || beyond > known) return Promise.resolve(isInDoubt ? undefined : beyond)
    this.beyond = known
    clearTimeout(this.timer)
    this.timer = setTimeout(this.settle, withinMs)
    return new Promise((resolve) => (this.resolve = resolve))
  }

  readonly wake = (version?: number): void => {
    const isNewer = version !== undefined && version > this.beyond
    this.beyond = version ?? this.beyond
    if (this.resolve) this.settle(isNewer ? version : undefined)
    else this.isInDoubt ||= !isNewer
  }

  /** Versions beyond the known one may be lost. Call this before reading the version again, not after. */
  forget(known: number): void {
    this.beyond = known
  }

  readonly end = (): void => {
    this.leave()
    clearTimeout(this.timer)
    this.wake()
  }

  private readonly settle = (version?: number): void => {
    const { resolve } = this
    this.resolve = undefined
    resolve?.(version)
  }
}
