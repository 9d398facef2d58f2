import type { Moved } from './hints.ts'

export class Groups<T> {
  protected readonly sets = new Map<string, Set<T>>()

  keys = (): string[] => [...this.sets.keys()]
  of = (key: string): Iterable<T> => this.sets.get(key) ?? []
  countOf = (key: string): number => this.sets.get(key)?.size ?? 0

  /** Returns a function that deletes the value again. */
  add(key: string, value: T): () => void {
    const set = this.sets.get(key)
    if (set) set.add(value)
    else this.sets.set(key, new Set([value]))
    return () => this.delete(key, value)
  }

  delete(key: string, value: T): void {
    const set = this.sets.get(key)
    if (set?.delete(value) && set.size === 0) this.sets.delete(key)
  }
}

interface Waiter {
  readonly beyond: number
  wake: (version?: number) => void
}

export class Waiting extends Groups<Waiter> {
  /** Hints that come late name older versions. */
  hear({ projectId, version }: Moved): void {
    for (const { beyond, wake } of this.of(projectId)) if (version > beyond) wake(version)
  }

  /** The version in the database: lower than before after a failover to a standby that was behind. */
  see({ projectId, version }: Moved): void {
    for (const { beyond, wake } of this.of(projectId)) if (version !== beyond) wake(version)
  }

  wakeAll(): void {
    for (const set of this.sets.values()) for (const { wake } of set) wake()
  }
}

/** Notifies one reader of new versions: of those that come while the reader is busy, when it waits again. */
export class Following implements Waiter {
  private isInDoubt = false
  private resolve: ((version?: number) => void) | undefined
  private timer: ReturnType<typeof setTimeout> | undefined

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
