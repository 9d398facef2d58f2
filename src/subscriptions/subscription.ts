import type { ProjectVersion } from './notifications.ts'

export function endAtAbort({ end }: Subscription, signal: AbortSignal): void {
  if (signal.aborted) end()
  else signal.addEventListener('abort', end, { once: true })
}

interface Subscriber {
  readonly notified: number
  wake: (version?: number) => void
}

/** The subscribers by project. */
export class Subscribers {
  private readonly sets = new Map<string, Set<Subscriber>>()

  keys = (): string[] => [...this.sets.keys()]
  countOf = (projectId: string): number => this.sets.get(projectId)?.size ?? 0

  add(projectId: string, subscriber: Subscriber): () => void {
    const set = this.sets.get(projectId) ?? new Set()
    this.sets.set(projectId, set.add(subscriber))
    return () => {
      if (set.delete(subscriber) && set.size === 0) this.sets.delete(projectId)
    }
  }

  subscribe(projects: ProjectVersion[]): Subscription {
    const end = () => unsubscribe.forEach((end) => end())
    const subscription = new Subscription(projects[0]?.version ?? 0, end)
    const wake = () => subscription.wake()
    const unsubscribe = projects.map(({ projectId, version }) =>
      this.add(projectId, projects.length === 1 ? subscription : { notified: version, wake }),
    )
    return subscription
  }

  /** For a version from a notification. An older version, from a late notification, is ignored. */
  notifyNewer({ projectId, version }: ProjectVersion): void {
    for (const { notified, wake } of this.sets.get(projectId) ?? []) if (version > notified) wake(version)
  }

  /** For a version from the database. After a failover to a standby that was behind, it can be lower than before. */
  notifyChanged({ projectId, version }: ProjectVersion): void {
    for (const { notified, wake } of this.sets.get(projectId) ?? []) if (version !== notified) wake(version)
  }

  wakeAll(): void {
    for (const set of this.sets.values()) for (const { wake } of set) wake()
  }
}

/** A version that arrives while the reader is busy resolves the reader's next wait. */
export class Subscription implements Subscriber {
  private isUncertain = false
  private resolve: ((version?: number) => void) | undefined
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(
    public notified: number,
    private readonly onEnd = () => {},
  ) {}

  /** Resolves with a version after `current`, or undefined if the caller must read the version, or the time is over. */
  waitForNewer(current: number, withinMs: number): Promise<number | undefined> {
    const { isUncertain, notified } = this
    this.isUncertain = false
    if (isUncertain || notified > current) return Promise.resolve(isUncertain ? undefined : notified)
    this.notified = current
    clearTimeout(this.timer)
    this.timer = setTimeout(this.resolveWait, withinMs)
    return new Promise((resolve) => (this.resolve = resolve))
  }

  readonly wake = (version?: number): void => {
    const isNewer = version !== undefined && version > this.notified
    this.notified = version ?? this.notified
    if (this.resolve) this.resolveWait(isNewer ? version : undefined)
    else this.isUncertain ||= !isNewer
  }

  /** Forgets versions after `current`, which a failover may have lost. Call this before reading the version again. */
  resetTo(current: number): void {
    this.notified = current
  }

  readonly end = (): void => {
    this.onEnd()
    clearTimeout(this.timer)
    this.wake()
  }

  private readonly resolveWait = (version?: number): void => {
    const { resolve } = this
    this.resolve = undefined
    resolve?.(version)
  }
}
