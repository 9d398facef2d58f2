import type { Redis } from 'ioredis'
import { newId } from '../ids.ts'
import type { RedisClient } from '../redis/connections.ts'

/** A project's current version; in a notification also the users to whom the commit made the project visible. */
export interface ProjectVersion {
  projectId: string
  version: number
  newMembers?: string[]
}

/** Redis messages between processes about new versions of projects. Messages may be lost, so versions are polled too. */
export class Notifications {
  private pending = new Map<string, ProjectVersion>()
  /** Each message begins with this id, so that a process ignores its own messages, which it has already delivered. */
  private readonly processId = newId()
  private readonly listeners = new Set<(changed: ProjectVersion) => void>()
  isSubscribed = false

  constructor(
    private readonly redis: RedisClient,
    private readonly subscriber: Redis,
    private readonly channel: string,
  ) {
    subscriber.on('message', (from, message) => void (from === channel && this.read(message)))
    subscriber.on('ready', () => void this.subscribe())
    subscriber.on('close', () => (this.isSubscribed = false))
  }

  /** The first listener subscribes to the channel. Returns a function that removes the listener. */
  listen(listener: (changed: ProjectVersion) => void): () => void {
    const isFirst = this.listeners.size === 0
    this.listeners.add(listener)
    if (isFirst) void this.subscribe()
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
    let message = this.processId
    for (const one of all.values()) {
      if (this.listeners.size > 0) this.deliver(one)
      message += `,${formatted(one)}`
    }
    if (this.redis.status === 'ready') this.redis.publish(this.channel, message).catch(() => {})
  }

  private read(message: string): void {
    if (message.startsWith(this.processId)) return
    for (const one of message.split(',')) {
      const [projectId = '', version, ...newMembers] = one.split(' ')
      if (version) this.deliver({ projectId, version: Number(version), newMembers })
    }
  }

  private deliver(changed: ProjectVersion): void {
    for (const listener of this.listeners) listener(changed)
  }

  private async subscribe(): Promise<void> {
    if (this.listeners.size === 0 || this.subscriber.status !== 'ready') return
    const subscribed = this.subscriber.subscribe(this.channel)
    this.isSubscribed = await subscribed.then(
      () => true,
      () => false,
    )
  }
}

const merged = (earlier: ProjectVersion, { projectId, version, newMembers }: ProjectVersion) => ({
  projectId,
  version: Math.max(version, earlier.version),
  newMembers: earlier.newMembers ? [...earlier.newMembers, ...(newMembers ?? [])] : newMembers,
})

const formatted = ({ projectId, version, newMembers }: ProjectVersion): string =>
  newMembers ? `${projectId} ${version} ${newMembers.join(' ')}` : `${projectId} ${version}`
