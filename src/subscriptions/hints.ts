import type { Redis } from 'ioredis'
import { newId } from '../ids.ts'
import type { RedisClient } from '../redis/connections.ts'

/** A project and the version that it has by now; in a hint also who may see it only since. */
export interface Moved {
  projectId: string
  version: number
  comers?: string[]
}

/** Messages between processes about projects that moved on. A hint may be lost: followers also read versions now and then. */
export class Hints {
  private pending = new Map<string, Moved>()
  /** Begins the messages of this process, which has heard them before they are sent. */
  private readonly own = newId()
  private readonly hearers = new Set<(moved: Moved) => void>()
  areHeard = false

  constructor(
    private readonly redis: RedisClient,
    private readonly subscriber: Redis,
    private readonly channel: string,
  ) {
    subscriber.on('message', (from, message) => void (from === channel && this.read(message)))
    subscriber.on('ready', () => void this.subscribe())
    subscriber.on('close', () => (this.areHeard = false))
  }

  /** Subscribes at the first call: most processes need no hints. Returns a function that ends the listening. */
  listen(hear: (moved: Moved) => void): () => void {
    const isFirst = this.hearers.size === 0
    this.hearers.add(hear)
    if (isFirst) void this.subscribe()
    return () => void this.hearers.delete(hear)
  }

  /** All that is committed in one turn of the loop is one message. */
  tell(heads: Moved[]): void {
    if (this.pending.size === 0) setImmediate(() => this.send())
    for (const { projectId, version, comers } of heads) {
      const known = this.pending.get(projectId)
      const all = known?.comers ? [...known.comers, ...(comers ?? [])] : comers
      this.pending.set(projectId, { projectId, version: Math.max(version, known?.version ?? 0), comers: all })
    }
  }

  private send(): void {
    const told = [...this.pending.values()]
    this.pending.clear()
    for (const moved of told) this.hear(moved)
    if (this.redis.status !== 'ready') return
    const message = [this.own, ...told.map(written)].join()
    this.redis.publish(this.channel, message).catch(() => {})
  }

  private read(message: string): void {
    if (message.startsWith(this.own)) return
    for (const hint of message.split(',')) {
      const [projectId = '', version, ...comers] = hint.split(' ')
      if (version) this.hear({ projectId, version: Number(version), comers })
    }
  }

  private hear(moved: Moved): void {
    for (const hear of this.hearers) hear(moved)
  }

  private async subscribe(): Promise<void> {
    if (this.hearers.size === 0 || this.subscriber.status !== 'ready') return
    const subscribed = this.subscriber.subscribe(this.channel)
    this.areHeard = await subscribed.then(
      () => true,
      () => false,
    )
  }
}

const written = ({ projectId, version, comers }: Moved): string =>
  comers ? `${projectId} ${version} ${comers.join(' ')}` : `${projectId} ${version}`
