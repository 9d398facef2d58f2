import { Subscription, type MultiMap } from './subscription.ts'

export const maxListedProjects = 1_000

/** A key that is listed after all projects if the user sees more than `maxListedProjects`. */
export const moreKey = 'more'

export interface ListedVersion {
  projectId: string
  version: number | null
}

/** Collects changed projects for one stream. A slow stream receives each project once, with its latest version. */
export class ProjectsSubscription {
  private readonly changed: Set<string>
  private wakes = 0

  constructor(
    private readonly projects: VisibleProjects,
    readonly subscription: Subscription,
  ) {
    this.changed = new Set(projects.versions.keys())
  }

  wake(changed?: string): void {
    if (changed !== undefined) this.changed.add(changed)
    this.subscription.wake(++this.wakes)
  }

  hasChanges = (): boolean => this.changed.size > 0

  async waitForChanges(withinMs: number): Promise<void> {
    if (!this.hasChanges()) await this.subscription.waitForNewer(this.wakes, withinMs)
  }

  takeChanges(): ListedVersion[] {
    const ids = [...this.changed]
    this.changed.clear()
    return ids.map((projectId) => ({ projectId, version: this.projects.versions.get(projectId) ?? null }))
  }
}

export class VisibleProjects {
  readonly versions = new Map<string, number>()
  private readonly subscriptions = new Set<ProjectsSubscription>()
  private isEnded = false

  constructor(
    readonly userId: string,
    private readonly viewers: MultiMap<VisibleProjects>,
  ) {}

  /** @param version undefined if the user may not see the project. A project beyond the limit is listed as `moreKey`. */
  update(projectId: string, version: number | undefined): void {
    // A read may end after the last stream. Its result must not add this object to `viewers` again.
    if (this.isEnded) return
    const previous = this.versions.get(projectId)
    if (previous === version) return
    const listed = this.versions.size - (this.versions.has(moreKey) ? 1 : 0)
    const isBeyond = previous === undefined && listed >= maxListedProjects
    if (isBeyond && projectId !== moreKey) return this.update(moreKey, 1)
    if (version === undefined) {
      this.versions.delete(projectId)
      this.viewers.delete(projectId, this)
    } else {
      this.versions.set(projectId, version)
      if (previous === undefined) this.viewers.add(projectId, this)
    }
    for (const subscription of this.subscriptions) subscription.wake(projectId)
  }

  /** @param all the visible projects, ordered by id: at most `maxListedProjects`, then `moreKey` if there are more */
  replaceAll(all: [projectId: string, version: number][]): void {
    const ids = new Set(all.map(([projectId]) => projectId))
    const end = all.length > maxListedProjects ? all[maxListedProjects - 1]![0] : undefined
    for (const projectId of [...this.versions.keys()]) {
      const isExpected = end === undefined || projectId < end || projectId === moreKey
      if (isExpected && !ids.has(projectId)) this.update(projectId, undefined)
    }
    for (const [projectId, version] of all) this.update(projectId, version)
  }

  get asText(): string {
    const texts = [...this.versions].map((one) => one.join(' '))
    return texts.sort().join()
  }

  subscribe(onLast = () => {}): ProjectsSubscription {
    const onEnd = () => {
      if (this.subscriptions.delete(subscription) && this.subscriptions.size === 0) onLast()
    }
    const subscription = new ProjectsSubscription(this, new Subscription(0, onEnd))
    this.subscriptions.add(subscription)
    return subscription
  }

  end(): void {
    this.isEnded = true
    for (const projectId of this.versions.keys()) this.viewers.delete(projectId, this)
  }

  wakeAll(): void {
    for (const subscription of this.subscriptions) subscription.wake()
  }
}
