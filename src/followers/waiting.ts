import type { Moved } from './hints.ts'

export interface Waiter {
  readonly beyond: number
  wake: (version?: number) => void
}

/** Who waits for which projects to move beyond which versions. */
export class Waiting {
  private readonly waiters = new Map<string, Set<Waiter>>()

  /** The projects that somebody waits for. */
  projects = (): string[] => [...this.waiters.keys()]

  /** How many wait for a project. */
  countOf(projectId: string): number {
    return this.waiters.get(projectId)?.size ?? 0
  }

  /** Has `wake` called once one of the projects has moved beyond its version; gives the way to wait no longer. */
  join(beyond: Moved[], wake: Waiter['wake']): () => void {
    const leaves = beyond.map(({ projectId, version }) => this.add(projectId, { beyond: version, wake }))
    return () => leaves.forEach((leave) => leave())
  }

  /** One more who waits, and may go on to wait for later ones; gives the way to wait no longer. */
  add(projectId: string, waiter: Waiter): () => void {
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
