/** Projects that one listener is told of, at most. */
export const mostTold = 1_000

/** Ends the list of those that are told, where there are more. */
export const moreMark = 'more'

/** A project as a listener hears of it; without a version it is out of sight. */
export interface State {
  projectId: string
  version: number | null
}

/** One who listens: the projects that they have not been told of since they changed, and whether that is not all. */
interface Listener {
  changed: Set<string>
  isMore: boolean
  wake: () => void
}

/** Whose projects a project is among. */
export class SeenBy {
  private readonly standings = new Map<string, Set<Standing>>()

  of(projectId: string): Iterable<Standing> {
    return this.standings.get(projectId) ?? []
  }

  add(projectId: string, standing: Standing): void {
    const those = this.standings.get(projectId)
    if (those) those.add(standing)
    else this.standings.set(projectId, new Set([standing]))
  }

  drop(projectId: string, standing: Standing): void {
    const those = this.standings.get(projectId)
    those?.delete(standing)
    if (those?.size === 0) this.standings.delete(projectId)
  }
}

/**
 * The projects that somebody may see, as they were last looked at, for all who listen in their name. Who is slow hears
 * of a project once, and as it is by then.
 */
export class Standing {
  readonly versions = new Map<string, number>()
  private readonly listeners = new Set<Listener>()
  private hasMore = false
  private isEnded = false

  constructor(
    readonly userId: string,
    private readonly seenBy: SeenBy,
  ) {}

  get isHeard(): boolean {
    return this.listeners.size > 0
  }

  /** Takes in what was seen of one project. A first one beyond the bound is left out until others go. */
  see(projectId: string, version: number | undefined): void {
    if (this.isEnded) return // a look that was under way would have it kept for good
    const known = this.versions.get(projectId)
    if (known === version) return
    if (known === undefined && this.versions.size >= mostTold) return this.seeMore(true)
    if (version === undefined) {
      this.versions.delete(projectId)
      this.seenBy.drop(projectId, this)
    } else {
      this.versions.set(projectId, version)
      this.seenBy.add(projectId, this)
    }
    for (const { changed, wake } of this.listeners) {
      changed.add(projectId)
      wake()
    }
  }

  /** Takes in the first of all projects that may be seen, in the order of their ids, and whether there are more. */
  seeAll(seen: [projectId: string, version: number][], hasMore = false): void {
    const now = new Set(seen.map(([projectId]) => projectId))
    const end = seen.length < mostTold ? null : seen.at(-1)![0]
    for (const projectId of [...this.versions.keys()]) {
      if (!now.has(projectId) && (end === null || projectId < end)) this.see(projectId, undefined)
    }
    for (const [projectId, version] of seen) this.see(projectId, version)
    this.seeMore(hasMore)
  }

  /** What every look at all is compared with: see lookAtStandings. */
  get list(): string {
    const list = [...this.versions].map(([projectId, version]) => `${projectId} ${version}`).sort()
    return (this.hasMore ? [...list, moreMark] : list).join()
  }

  private seeMore(hasMore: boolean): void {
    if (hasMore === this.hasMore) return
    this.hasMore = hasMore
    for (const listener of this.listeners) {
      listener.isMore = hasMore
      listener.wake()
    }
  }

  /** One more who listens: all is news to them. */
  join() {
    const listener: Listener = {
      changed: new Set(this.versions.keys()),
      isMore: this.hasMore,
      wake: () => {},
    }
    this.listeners.add(listener)
    return {
      /** What they have not been told yet, as it is now. */
      take: (): State[] => {
        const states = [...listener.changed].map((projectId) => ({
          projectId,
          version: this.versions.get(projectId) ?? null,
        }))
        listener.changed.clear()
        return states
      },
      /** Whether there are more than they are told of, if they do not know yet. */
      takeMore: (): boolean => {
        const { isMore } = listener
        listener.isMore = false
        return isMore
      },
      hasNews: () => listener.changed.size > 0 || listener.isMore,
      onNews: (wake: () => void) => void (listener.wake = wake),
      leave: () => void this.listeners.delete(listener),
    }
  }

  /** Nobody listens any more. */
  end(): void {
    this.isEnded = true
    for (const projectId of this.versions.keys()) this.seenBy.drop(projectId, this)
  }

  wakeAll(): void {
    for (const { wake } of this.listeners) wake()
  }
}
