import type { Moved } from './hints.ts'

interface Waiter {
  beyond: number
  wake: (version?: number) => void
}

/** Who waits for which projects to move beyond which versions. */
export class Waiting {
  private readonly waiters = new Map<string, Set<Waiter>>()

  /** The projects that somebody waits for. */
  projects(): string[] {
    return [...this.waiters.keys()]
  }

  /** Has `wake` called once one of the projects has moved beyond its version; gives the way to wait no longer. */
  join(beyond: Moved[], wake: Waiter['wake']): () => void {
    const leaves = beyond.map((one) => this.joinOne(one, wake))
    return () => leaves.forEach((leave) => leave())
  }

  private joinOne({ projectId, version }: Moved, wake: Waiter['wake']): () => void {
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
    for (const { beyond, wake } of this.waiters.get(projectId) ?? []) if (version > beyond) wake(version)
  }

  /** The version that a project has: less than before, when a standby that was behind has taken over. */
  see({ projectId, version }: Moved): void {
    for (const { beyond, wake } of this.waiters.get(projectId) ?? []) if (version !== beyond) wake(version)
  }

  wakeAll(): void {
    for (const those of this.waiters.values()) for (const { wake } of those) wake()
  }
}
