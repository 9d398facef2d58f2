import type { Redis } from 'ioredis'
import { newId } from '../ids.ts'
import type { NextCommit } from '../reads/versions.ts'
import type { RedisClient } from '../redis/connections.ts'

/** A project's current version. A notification also describes the commits that led to it. */
export interface ProjectVersion {
  projectId: string
  version: number
  /** The users who can see the project since these commits. */
  newMembers?: string[]
  /** The commit, if it is the only one. Without it, the commits may have changed any cached result. */
  next?: NextCommit | undefined
}

type Listener = (changed: ProjectVersion, isOwn: boolean) => void

/** Redis messages between processes about new versions of projects. Messages may be lost, so versions are polled too. */
export class Notifications {
  private pending = new Map<string, ProjectVersion>()
  /** Each message begins with this id, so that a process ignores its own messages, which it has already delivered. */
  private readonly processId = newId()
  private readonly listeners = new Set<Listener>()
  isSubscribed = false

  constructor(
    private readonly redis: RedisClient,
    private readonly subscriber: Redis,
    private readonly channel: string,
  ) {
    subscriber.on('message', (from, message) => void (from === channel && this.read(message)))
    subscriber.on('ready', () => void this.subscribe())
    subscriber.on('close', () => (this.isSubscribed = false))
    if (subscriber.status === 'ready') void this.subscribe()
  }

  /** Returns a function that removes the listener. */
  listen(listener: Listener): () => void {
    this.listeners.add(listener)
    return () => void this.listeners.delete(listener)
  }

  /** Sends all commits of one turn of the event loop in one message. */
  publish(heads: ProjectVersion[]): void {
    if (this.pending.size === 0) setImmediate(() => this.send())
    for (const head of heads) {
      const earlier = this.pending.get(head.projectId)
      this.pending.set(head.projectId, earlier ? merged(earlier, head) : head)
    }
  }

  private send(): void {
    const all = this.pending
    this.pending = new Map()
    for (const one of all.values()) this.deliver(one, true)
    if (this.redis.status !== 'ready') return
    this.redis.publish(this.channel, JSON.stringify([this.processId, ...all.values()])).catch(() => {})
  }

  private read(message: string): void {
    const [processId, ...all] = JSON.parse(message) as [string, ...ProjectVersion[]]
    if (processId === this.processId) return
    for (const one of all) this.deliver(one, false)
  }

  private deliver(changed: ProjectVersion, isOwn: boolean): void {
    for (const listener of this.listeners) listener(changed, isOwn)
  }

  private async subscribe(): Promise<void> {
    const count = await this.subscriber.subscribe(this.channel).catch(() => 0)
    this.isSubscribed = Boolean(count)
  }
}

const merged = (earlier: ProjectVersion, later: ProjectVersion): ProjectVersion => ({
  projectId: later.projectId,
  version: Math.max(later.version, earlier.version),
  newMembers: [...(earlier.newMembers ?? []), ...(later.newMembers ?? [])],
})
