import type { Moved } from './hints.ts'

/** Sets by key, without empty sets. */
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

/** Waits for a project to move beyond a version. */
export interface Waiter {
  readonly beyond: number
  wake: (version?: number) => void
}

/** The waiters of each project. */
export class Waiting extends Groups<Waiter> {
  /** A version that a process told of: hints that come late name older ones. */
  hear({ projectId, version }: Moved): void {
    for (const { beyond, wake } of this.of(projectId)) if (version > beyond) wake(version)
  }

  /** The version that a project has in the database: lower than before after a failover to a standby that was behind. */
  see({ projectId, version }: Moved): void {
    for (const { beyond, wake } of this.of(projectId)) if (version !== beyond) wake(version)
  }

  wakeAll(): void {
    for (const set of this.sets.values()) for (const { wake } of set) wake()
  }
}
