/** Limits the memory. The sweep finds projects that are left out. */
const maxProjects = 100_000

/** Projects with unindexed changes, with the time of the oldest, in the order of the calls of `add`. */
export class ChangedProjects {
  private readonly since = new Map<string, number>()
  private oldestTaken: number | undefined

  add(projectId: string, at = performance.now()): void {
    const existing = this.since.get(projectId)
    if (existing === undefined ? this.since.size < maxProjects : at < existing) this.since.set(projectId, at)
  }

  get size(): number {
    return this.since.size
  }

  /** Returns the next projects with their times. Call `done` when their changes are indexed. */
  take(count: number): Map<string, number> {
    const taken = new Map(this.since.entries().take(count))
    this.oldestTaken = oldestOf(taken.values())
    for (const projectId of taken.keys()) this.since.delete(projectId)
    return taken
  }

  done(): void {
    this.oldestTaken = undefined
  }

  clear = (): void => this.since.clear()

  /** Returns the time since the oldest change, in seconds. */
  lagSeconds(): number {
    const now = performance.now()
    return (now - Math.min(this.oldestTaken ?? now, oldestOf(this.since.values()) ?? now)) / 1_000
  }
}

const oldestOf = (times: Iterable<number>): number | undefined => {
  let oldest: number | undefined
  for (const at of times) oldest = Math.min(at, oldest ?? at)
  return oldest
}
