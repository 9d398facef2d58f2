import type { Waiter } from './waiting.ts'

/** One who follows a project for long: what is heard while they are busy they find when they come back. */
export class Following implements Waiter {
  private isInDoubt = false
  private resolve: ((version?: number) => void) | undefined
  private timer: ReturnType<typeof setTimeout> | undefined
  private dueAt = 0

  /** `beyond` is the version that was heard of last. */
  constructor(public beyond: number) {}

  /** A version beyond the one that is known, once it was heard of; none when that is in doubt, or the time is up. */
  moved(known: number, withinMs: number): Promise<number | undefined> {
    const { isInDoubt, beyond } = this
    this.isInDoubt = false
    if (isInDoubt || beyond > known) return Promise.resolve(isInDoubt ? undefined : beyond)
    this.beyond = known
    this.dueAt = performance.now() + withinMs
    this.timer ??= setTimeout(this.look, withinMs)
    return new Promise((resolve) => (this.resolve = resolve))
  }

  readonly wake = (version?: number): void => {
    const isNewer = version !== undefined && version > this.beyond
    this.beyond = version ?? this.beyond
    if (this.resolve) this.settle(isNewer ? version : undefined)
    else this.isInDoubt ||= !isNewer
  }

  /** What was heard of may be lost: whoever forgets it asks the database after that, not before. */
  forget(known: number): void {
    this.beyond = known
  }

  end(): void {
    clearTimeout(this.timer)
    this.wake()
  }

  private settle(version?: number): void {
    const { resolve } = this
    this.resolve = undefined
    resolve?.(version)
  }

  /** One timer for many waits: as a rule each ends long before its time. */
  private readonly look = (): void => {
    this.timer = undefined
    if (!this.resolve) return
    const leftMs = this.dueAt - performance.now()
    if (leftMs > 0) this.timer = setTimeout(this.look, leftMs)
    else this.settle()
  }
}
