import { Following } from './following.ts'
import type { Groups } from './waiting.ts'

/** Projects that one listener is told of, at most. */
export const mostTold = 1_000

/** Ends the list of those that are told, where there are more. */
export const moreMark = 'more'

/** A project as a listener is told of it; without a version the user cannot see it any more. */
export interface State {
  projectId: string
  version: number | null
}

/** A stream, and what has changed since it was told last: a slow stream is told of each project once. */
export class Listener {
  readonly changed: Set<string>
  private wakes = 0

  constructor(
    readonly standing: Standing,
    readonly following: Following,
    public isMore: boolean,
  ) {
    this.changed = new Set(standing.versions.keys())
  }

  wake(): void {
    this.following.wake(++this.wakes)
  }

  hasNews = (): boolean => this.changed.size > 0 || this.isMore

  async news(withinMs: number): Promise<void> {
    if (!this.hasNews()) await this.following.moved(this.wakes, withinMs)
  }

  /** The changed projects as they are now. */
  take(): State[] {
    const { changed, standing } = this
    const ids = [...changed]
    changed.clear()
    return ids.map((projectId) => ({ projectId, version: standing.versions.get(projectId) ?? null }))
  }

  /** Whether there are more projects than are told, if that is new. */
  takeMore(): boolean {
    const { isMore } = this
    this.isMore = false
    return isMore
  }
}

/** The projects that a user may see, as they were last read, for all streams of the user. */
export class Standing {
  readonly versions = new Map<string, number>()
  private readonly listeners = new Set<Listener>()
  private hasMore = false
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
    if (known === undefined && this.versions.size >= mostTold) return this.seeMore(true)
    if (version === undefined) {
      this.versions.delete(projectId)
      this.seenBy.delete(projectId, this)
    } else {
      this.versions.set(projectId, version)
      if (known === undefined) this.seenBy.add(projectId, this)
    }
    for (const listener of this.listeners) {
      listener.changed.add(projectId)
      listener.wake()
    }
  }

  /** Stores the first of all projects that the user may see, in the order of their ids, and whether there are more. */
  seeAll(seen: [projectId: string, version: number][], hasMore = false): void {
    const now = new Set(seen.map(([projectId]) => projectId))
    const end = seen.length < mostTold ? null : seen.at(-1)![0]
    for (const projectId of [...this.versions.keys()]) {
      if (!now.has(projectId) && (end === null || projectId < end)) this.see(projectId, undefined)
    }
    for (const [projectId, version] of seen) this.see(projectId, version)
    this.seeMore(hasMore)
  }

  /** What each read of all is compared with: see lookAtStandings. */
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

  /** One more listener: all is new to it. `onLast` is called when the last listener ends. */
  join(onLast = () => {}): Listener {
    const leave = () => {
      if (this.listeners.delete(listener) && this.listeners.size === 0) onLast()
    }
    const listener = new Listener(this, new Following(0, leave), this.hasMore)
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
