import { Subscription, type MultiMap } from './subscription.ts'

export const maxListedProjects = 1_000
/** A page grows if the user becomes a member of projects within the page. A stream ends above this number. */
export const maxGrownProjects = 2 * maxListedProjects

/** The projects of a stream: those of the user after an id, or those that an API token is bound to. */
export interface ProjectScope {
  userId: string
  afterProject: string
  projects: string[] | null
}

export interface ListedVersion {
  projectId: string
  version: number | null
}

/** The user has more projects after `last`, which ends a page of `told` projects. */
export interface MoreProjects {
  told: number
  last: string
}

/** Collects changed projects for one stream. A slow stream receives each project once, with its latest version. */
export class ProjectsSubscription {
  private readonly changed: Set<string>
  private lastSent: string | undefined
  private wakes = 0

  constructor(
    private readonly projects: VisibleProjects,
    readonly subscription: Subscription,
  ) {
    this.changed = new Set(projects.versions.keys())
  }

  get more(): MoreProjects | undefined {
    const { last, versions } = this.projects
    return last === undefined ? undefined : { told: versions.size, last }
  }

  get isOverfull(): boolean {
    return this.projects.isOverfull
  }

  wake(changed?: string): void {
    if (changed !== undefined) this.changed.add(changed)
    this.subscription.wake(++this.wakes)
  }

  hasChanges = (): boolean => this.changed.size > 0 || this.projects.last !== this.lastSent

  async waitForChanges(withinMs: number): Promise<void> {
    if (!this.hasChanges()) await this.subscription.waitForNewer(this.wakes, withinMs)
  }

  /** Returns each change once. Returns `more` once, after the page has become full. */
  takeChanges(): { versions: ListedVersion[]; more?: MoreProjects | undefined } {
    const { versions, last } = this.projects
    const ids = [...this.changed]
    this.changed.clear()
    const more = last === this.lastSent ? undefined : this.more
    this.lastSent = last
    return {
      versions: ids.map((projectId) => ({ projectId, version: versions.get(projectId) ?? null })),
      more,
    }
  }
}

/**
 * A page of the projects that a user sees. When the page is full, `last` becomes its end and does not change any more:
 * other streams begin after `last`, so every project belongs to the page of exactly one of these streams.
 */
export class VisibleProjects {
  readonly versions = new Map<string, number>()
  last: string | undefined
  private readonly subscriptions = new Set<ProjectsSubscription>()
  private isEnded = false

  constructor(
    readonly scope: ProjectScope,
    private readonly viewers: MultiMap<VisibleProjects>,
  ) {}

  /** @param version undefined if the user may not see the project */
  update(projectId: string, version: number | undefined): void {
    // A read may end after the last stream. Its result must not add this object to `viewers` again.
    if (this.isEnded || !this.includes(projectId)) return
    const previous = this.versions.get(projectId)
    if (previous === version) return
    if (version === undefined) {
      this.versions.delete(projectId)
      this.viewers.delete(projectId, this)
    } else {
      if (previous === undefined && this.versions.size >= maxListedProjects && this.isAfterAll(projectId))
        return
      this.versions.set(projectId, version)
      if (previous === undefined) this.viewers.add(projectId, this)
    }
    for (const subscription of this.subscriptions) subscription.wake(projectId)
  }

  private includes(projectId: string): boolean {
    const { afterProject, projects } = this.scope
    if (projectId <= afterProject || (this.last !== undefined && projectId > this.last)) return false
    return !projects || projects.includes(projectId)
  }

  /** True for a project after the page, which then ends before it. */
  private isAfterAll(projectId: string): boolean {
    if (this.last !== undefined) return false
    const last = [...this.versions.keys()].reduce((a, b) => (a > b ? a : b))
    if (projectId < last) return false
    this.endAt(last)
    return true
  }

  private endAt(last: string): void {
    this.last = last
    for (const projectId of this.versions.keys()) {
      if (projectId <= last) continue
      this.versions.delete(projectId)
      this.viewers.delete(projectId, this)
    }
    for (const subscription of this.subscriptions) subscription.wake()
  }

  /** @param all the visible projects of the page. @param hasMore true if the page is full, and more projects follow */
  replaceAll(all: [projectId: string, version: number][], hasMore: boolean): void {
    const ids = new Set(all.map(([projectId]) => projectId))
    if (hasMore) this.endAt(all.at(-1)![0])
    for (const projectId of [...this.versions.keys()])
      if (!ids.has(projectId)) this.update(projectId, undefined)
    for (const [projectId, version] of all) this.update(projectId, version)
  }

  /** True if the page has grown too much: its streams must end. */
  get isOverfull(): boolean {
    return this.versions.size > maxGrownProjects
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
