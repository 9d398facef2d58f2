import { Following, type Groups } from './following.ts'

export const mostTold = 1_000

/** Listed like a project, after all projects, where there are more than are told. */
export const moreMark = 'more'

/** A project as a listener is told of it; without a version the user cannot see it any more. */
export interface State {
  projectId: string
  version: number | null
}

/** A stream, and what has changed since it was told last: a slow stream is told of each project once. */
export class Listener {
  private readonly changed: Set<string>
  private wakes = 0

  constructor(
    private readonly standing: Standing,
    readonly following: Following,
  ) {
    this.changed = new Set(standing.versions.keys())
  }

  wake(changed?: string): void {
    if (changed !== undefined) this.changed.add(changed)
    this.following.wake(++this.wakes)
  }

  hasNews = (): boolean => this.changed.size > 0

  async news(withinMs: number): Promise<void> {
    if (!this.hasNews()) await this.following.moved(this.wakes, withinMs)
  }

  /** The changed projects as they are now, and the mark of more. */
  take(): State[] {
    const ids = [...this.changed]
    this.changed.clear()
    return ids.map((projectId) => ({ projectId, version: this.standing.versions.get(projectId) ?? null }))
  }
}

/** The projects that a user may see, as they were last read, for all streams of the user. */
export class Standing {
  readonly versions = new Map<string, number>()
  private readonly listeners = new Set<Listener>()
  private isEnded = false

  constructor(
    readonly userId: string,
    private readonly seenBy: Groups<Standing>,
  ) {}

  /** Stores what was read of one project. A first one beyond the limit is left out until others go. */
  see(projectId: string, version: number | undefined): void {
    if (this.isEnded) return // a read that was in progress would keep it for good
    const known = this.versions.get(projectId)
    if (known === version) return
    const told = this.versions.size - (this.versions.has(moreMark) ? 1 : 0)
    const isBeyond = known === undefined && told >= mostTold
    if (isBeyond && projectId !== moreMark) return this.see(moreMark, 1)
    if (version === undefined) {
      this.versions.delete(projectId)
      this.seenBy.delete(projectId, this)
    } else {
      this.versions.set(projectId, version)
      if (known === undefined) this.seenBy.add(projectId, this)
    }
    for (const listener of this.listeners) listener.wake(projectId)
  }

  /** Stores the first of all projects that the user may see, in the order of their ids, and whether there are more. */
  seeAll(seen: [projectId: string, version: number][]): void {
    const now = new Set(seen.map(([projectId]) => projectId))
    const end = seen.length > mostTold ? seen[mostTold - 1]![0] : undefined
    for (const projectId of [...this.versions.keys()]) {
      const isExpected = end === undefined || projectId < end || projectId === moreMark
      if (isExpected && !now.has(projectId)) this.see(projectId, undefined)
    }
    for (const [projectId, version] of seen) this.see(projectId, version)
  }

  get list(): string {
    return [...this.versions]
      .map((one) => one.join(' '))
      .sort()
      .join()
  }

  join(onLast = () => {}): Listener {
    const leave = () => {
      if (this.listeners.delete(listener) && this.listeners.size === 0) onLast()
    }
    const listener = new Listener(this, new Following(0, leave))
    this.listeners.add(listener)
    return listener
  }

  end(): void {
    this.isEnded = true
    for (const projectId of this.versions.keys()) this.seenBy.delete(projectId, this)
  }

  wakeAll(): void {
    for (const listener of this.listeners) listener.wake()
  }
}
