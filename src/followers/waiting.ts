import type { Moved } from './hints.ts'

interface Waiter {
  beyond: number
  wake: () => void
}

/** Who waits for which project to move beyond which version. */
export class Waiting {
  private readonly waiters = new Map<string, Set<Waiter>>()

  /** The projects that somebody waits for. */
  projects(): string[] {
    return [...this.waiters.keys()]
  }

  /** Has `wake` called once the project has moved beyond a version; gives the way to wait no longer. */
  join({ projectId, version }: Moved, wake: () => void): () => void {
    const waiter = { beyond: version, wake }
    const those = (this.waiters.get(projectId) ?? new Set<Waiter>()).add(waiter)
    this.waiters.set(projectId, those)
    return () => {
      those.delete(waiter)
      if (those.size === 0 && this.waiters.get(projectId) === those) this.waiters.delete(projectId)
    }
  }

  /** A version that was told of: those told late are older. */
  hear({ projectId, version }: Moved): void {
    for (const { beyond, wake } of this.waiters.get(projectId) ?? []) if (version > beyond) wake()
  }

  /** The version that a project has: less than before, when a standby that was behind has taken over. */
  see({ projectId, version }: Moved): void {
    for (const { beyond, wake } of this.waiters.get(projectId) ?? []) if (version !== beyond) wake()
  }

  wakeAll(): void {
    for (const those of this.waiters.values()) for (const { wake } of those) wake()
  }
}
