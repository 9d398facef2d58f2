import type { Redis } from 'ioredis'
import type { Config } from '../config.ts'
import { noLeases } from '../metrics/counts.ts'
import { tagged } from '../redis/addresses.ts'
import type { RedisClient } from '../redis/connections.ts'
import { within } from '../within.ts'
import { acquireScript, releaseScript, renewScript } from './lease-scripts.ts'

interface Held {
  until: number
  since: number
  restingSince: number | null
  /** Another process waits for it. */
  wanted: boolean
}

/** Leases that are renewed by one command. */
const mostRenewed = 500

/**
 * The right to write a project without being disturbed. It only keeps processes out of each other's way: nothing
 * breaks when two hold it, because the commit compares versions. Without Redis everyone goes on without a lease.
 */
export class Leases {
  private readonly held = new Map<string, Held>()
  private readonly waiters = new Map<string, () => void>()
  private readonly me = crypto.randomUUID()
  private readonly channels: string
  private awayUntil = 0
  private readonly timer: ReturnType<typeof setInterval>

  constructor(
    private readonly redis: RedisClient,
    private readonly subscriber: Redis,
    private readonly config: Config,
    private readonly counts = noLeases(),
  ) {
    this.channels = `${config.redisPrefix}:lease-channel:`
    subscriber.on('message', (channel, message) => channel === this.channels + this.me && this.hear(message))
    // Whenever Redis comes, for the first time or again: until then nothing can be heard.
    subscriber.on('ready', () => void subscriber.subscribe(this.channels + this.me).catch(() => {}))
    this.timer = setInterval(() => this.tend(), config.leaseTtlMs / 4)
  }

  get size(): number {
    return this.held.size
  }

  holds(projectId: string): boolean {
    const mine = this.held.get(projectId)
    if (!mine) return false
    const now = performance.now()
    if (now >= mine.until || (mine.wanted && now - mine.since >= this.config.leaseSliceMs)) return false
    mine.restingSince = null
    return true
  }

  /**
   * Resolves when this process may write the project: at once when it holds the lease, or Redis is away. False when
   * somebody else may have written it since the last time.
   */
  async hold(projectId: string): Promise<boolean> {
    if (this.holds(projectId)) return true
    const began = performance.now()
    const isUntouched = await this.get(projectId)
    this.counts.seconds.addSince(began)
    return isUntouched
  }

  private async get(projectId: string): Promise<boolean> {
    const mine = this.held.get(projectId)
    if (mine && performance.now() < mine.until) await this.release(projectId)
    // A holder that froze is waited for until its lease ends, and a little longer; then the commit decides, in time.
    const patience = performance.now() + Math.min(this.config.leaseTtlMs * 2, this.config.writeTimeoutMs / 2)
    while (performance.now() < patience && performance.now() >= this.awayUntil) {
      // Listens first: the hand-over may arrive before the reply that says "wait".
      const handedOver = new Promise<true>((resolve) => this.waiters.set(projectId, () => resolve(true)))
      const waitMs = await this.acquire(projectId)
      if (waitMs > 0) this.counts.waits++
      const mostMs = Math.max(0, Math.min(waitMs, patience - performance.now()))
      const taken = waitMs === 0 || (await within(mostMs, handedOver))
      this.waiters.delete(projectId)
      if (taken) return !this.held.has(projectId)
    }
    return true // nobody knows; the commit's comparison tells
  }

  /** Says that nothing waits for the project here: the lease lingers, unless another process wants it. */
  rest(projectId: string): void {
    const mine = this.held.get(projectId)
    if (mine?.wanted) void this.release(projectId)
    else if (mine) mine.restingSince = performance.now()
  }

  async close(): Promise<void> {
    clearInterval(this.timer)
    await Promise.all([...this.held.keys()].map((id) => this.release(id)))
  }

  private async acquire(projectId: string): Promise<number> {
    const sent = performance.now()
    const waitMs = await this.call<number>(acquireScript, this.keys(projectId), projectId)
    if (!waitMs) this.took(projectId, sent)
    return waitMs ?? 0
  }

  private took(projectId: string, since: number): void {
    const until = since + this.config.leaseTtlMs
    this.held.set(projectId, { until, since, restingSince: null, wanted: false })
  }

  private async release(projectId: string): Promise<void> {
    this.held.delete(projectId)
    await this.call(releaseScript, this.keys(projectId), projectId)
  }

  private hear(message: string): void {
    const [verb, projectId = ''] = message.split(' ')
    if (verb === 'take') {
      this.counts.handOvers++
      const waiter = this.waiters.get(projectId)
      this.took(projectId, performance.now())
      if (waiter) waiter()
      else void this.release(projectId)
      return
    }
    const mine = this.held.get(projectId)
    if (!mine) return
    mine.wanted = true
    if (mine.restingSince !== null) void this.release(projectId)
  }

  /** Renews what is in use or lingers, lets go of what rested long enough. */
  private tend(): void {
    const now = performance.now()
    const keep: string[] = []
    for (const [projectId, { restingSince }] of this.held) {
      if (restingSince !== null && now - restingSince > this.config.leaseLingerMs)
        void this.release(projectId)
      else keep.push(projectId)
    }
    this.subscriber.ping().catch(() => {}) // a line that has gone silent is noticed by what it owes
    // A cluster has each in its own place.
    const step = this.redis.isCluster ? 1 : mostRenewed
    for (let from = 0; from < keep.length; from += step) void this.renew(keep.slice(from, from + step))
  }

  private async renew(projectIds: string[]): Promise<void> {
    const sent = performance.now()
    const leases = projectIds.map((id) => this.keys(id)[0]!)
    const mine = await this.call<number[]>(renewScript, leases)
    projectIds.forEach((id, i) => {
      const held = this.held.get(id)
      if (held && mine?.[i]) held.until = sent + this.config.leaseTtlMs
      else if (held && mine) this.held.delete(id)
    })
  }

  private keys(projectId: string): string[] {
    const name = this.redis.isCluster ? tagged(projectId) : projectId
    return [`${this.config.redisPrefix}:lease:${name}`, `${this.config.redisPrefix}:lease-queue:${name}`]
  }

  /** Runs a script; undefined when Redis is away, which is then not asked for half a second. */
  private async call<T>(script: string, keys: string[], projectId = ''): Promise<T | undefined> {
    try {
      const args = [this.me, this.config.leaseTtlMs, this.channels, projectId, this.redis.isCluster ? 1 : 0]
      return (await this.redis.eval(script, keys.length, ...keys, ...args)) as T
    } catch {
      this.awayUntil = performance.now() + 500
      return undefined
    }
  }
}
