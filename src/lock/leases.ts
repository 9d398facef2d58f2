import type { Redis } from 'ioredis'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config.ts'
import { newLeaseCounts } from '../metrics/counts.ts'
import type { RedisClient } from '../redis/connections.ts'
import { within } from '../waits.ts'

// A lease is a key with the holder's process id and a time to live. A waiting process sends "want <project>" to the channel
// of the holder. A process that releases a lease sends the project to a channel of all processes.

/** KEYS lease · ARGV process id, ttlMs, channel prefix, project → 0 if acquired, else ms until the lease ends. */
const acquireScript = `
local holder = redis.call('get', KEYS[1])
if not holder or holder == ARGV[1] then
  redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
  return 0
end
redis.call('publish', ARGV[3] .. holder, 'want ' .. ARGV[4])
return math.max(redis.call('pttl', KEYS[1]), 1)`

const freeChannel = 'free'

/** KEYS lease · ARGV process id, ttlMs, channel prefix, project */
const releaseScript = `
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('del', KEYS[1])
return redis.call('publish', ARGV[3] .. '${freeChannel}', ARGV[4])`

/** KEYS leases · ARGV process id, ttlMs → for each key 1 if this process still holds and has renewed it, else 0. */
const renewScript = `
local renewed = {}
for i, key in ipairs(KEYS) do
  renewed[i] = redis.call('get', key) == ARGV[1] and redis.call('pexpire', key, ARGV[2]) or 0
end
return renewed`

interface HeldLease {
  until: number
  since: number
  idleSince: number | null
  isRequested: boolean
}

const maxRenewed = 500
/** Waiting processes acquire a free lease after a random part of this time, so that all of them have the same chance. */
const spreadMs = 3
/** Messages may be lost, so a waiting process tries again after this time. */
const maxWaitMs = 50

/**
 * Leases only save time. Two processes may hold the same lease, and without Redis processes write without a lease, but
 * each commit compares versions.
 */
export class Leases {
  private readonly held = new Map<string, HeldLease>()
  private readonly waiters = new Map<string, () => void>()
  private readonly processId = crypto.randomUUID()
  private readonly channels: string
  private redisDownUntil = 0
  private readonly timer: ReturnType<typeof setInterval>

  constructor(
    private readonly redis: RedisClient,
    subscriber: Redis,
    private readonly config: Config,
    private readonly counts = newLeaseCounts(),
  ) {
    this.channels = `${config.redisPrefix}:lease-channel:`
    const [own, free] = [this.channels + this.processId, this.channels + freeChannel]
    subscriber.on('message', (channel, message) => {
      if (channel === own) this.receiveWant(message.replace('want ', ''))
      if (channel === free) this.waiters.get(message)?.()
    })
    // ioredis cannot subscribe before the connection is ready.
    subscriber.on('ready', () => void subscriber.subscribe(own, free).catch(() => {}))
    this.timer = setInterval(() => this.renewAll(), config.leaseTtlMs / 4)
  }

  get size(): number {
    return this.held.size
  }

  holds(projectId: string): boolean {
    const mine = this.held.get(projectId)
    if (!mine) return false
    const now = performance.now()
    if (now >= mine.until || (mine.isRequested && now - mine.since >= this.config.leaseSliceMs)) return false
    mine.idleSince = null
    return true
  }

  /**
   * Resolves when this process may write the project. Returns false if another process had the lease meanwhile: a state
   * in memory is then out of date. Also returns true if this is unknown: without Redis, and after a short lease of
   * another process.
   */
  async acquire(projectId: string): Promise<boolean> {
    if (this.holds(projectId)) return true
    const began = performance.now()
    const isUntouched = await this.waitForLease(projectId)
    this.counts.seconds.addSince(began)
    return isUntouched
  }

  private async waitForLease(projectId: string): Promise<boolean> {
    const mine = this.held.get(projectId)
    let isUntouched = !mine || performance.now() >= mine.until
    if (!isUntouched) {
      await this.release(projectId)
      // The waiting processes acquire the lease first.
      await sleep(2 * spreadMs)
    }
    // Waits for a frozen holder until its lease has expired, but at most half the write timeout.
    const giveUpAt = performance.now() + Math.min(this.config.leaseTtlMs * 2, this.config.writeTimeoutMs / 2)
    while (performance.now() < giveUpAt && performance.now() >= this.redisDownUntil) {
      // Registers before the script runs: the lease may become free before the reply of the script.
      const freed = new Promise<void>((resolve) => this.waiters.set(projectId, resolve))
      const waitMs = await this.tryAcquire(projectId)
      if (waitMs > 0) await within(Math.min(waitMs, maxWaitMs, giveUpAt - performance.now()), freed)
      this.waiters.delete(projectId)
      if (waitMs === 0) {
        if (!isUntouched) this.counts.handOvers++
        return isUntouched
      }
      this.counts.waits++
      isUntouched = false
      await sleep(spreadMs * Math.random())
    }
    return true
  }

  /** Call when no command waits for the project. Keeps the lease for `leaseLingerMs`, unless another process waits. */
  markIdle(projectId: string): void {
    const mine = this.held.get(projectId)
    if (mine?.isRequested) void this.release(projectId)
    else if (mine) mine.idleSince = performance.now()
  }

  async close(): Promise<void> {
    clearInterval(this.timer)
    await Promise.all([...this.held.keys()].map((id) => this.release(id)))
  }

  private async tryAcquire(projectId: string): Promise<number> {
    const sent = performance.now()
    const waitMs = (await this.runScript<number>(acquireScript, [projectId], projectId)) ?? 0
    const until = sent + this.config.leaseTtlMs
    if (waitMs === 0) this.held.set(projectId, { until, since: sent, idleSince: null, isRequested: false })
    return waitMs
  }

  private async release(projectId: string): Promise<void> {
    this.held.delete(projectId)
    await this.runScript(releaseScript, [projectId], projectId)
  }

  private receiveWant(projectId: string): void {
    const mine = this.held.get(projectId)
    if (!mine) return
    mine.isRequested = true
    if (mine.idleSince !== null) void this.release(projectId)
  }

  private renewAll(): void {
    const now = performance.now()
    const toRenew: string[] = []
    for (const [projectId, { idleSince }] of this.held) {
      if (idleSince !== null && now - idleSince > this.config.leaseLingerMs) void this.release(projectId)
      else toRenew.push(projectId)
    }
    // In a cluster each key may be on another node.
    const step = this.redis.isCluster ? 1 : maxRenewed
    for (let from = 0; from < toRenew.length; from += step) void this.renew(toRenew.slice(from, from + step))
  }

  private async renew(projectIds: string[]): Promise<void> {
    const sent = performance.now()
    const mine = await this.runScript<number[]>(renewScript, projectIds)
    projectIds.forEach((id, i) => {
      const held = this.held.get(id)
      if (held && mine?.[i]) held.until = sent + this.config.leaseTtlMs
      else if (held && mine) this.held.delete(id)
    })
  }

  /** Returns undefined if Redis is unavailable. Then `acquire` does not use Redis for half a second. */
  private async runScript<T>(script: string, projectIds: string[], wanted = ''): Promise<T | undefined> {
    try {
      const keys = projectIds.map((id) => `${this.config.redisPrefix}:lease:${id}`)
      const args = [this.processId, this.config.leaseTtlMs, this.channels, wanted]
      return (await this.redis.eval(script, keys.length, ...keys, ...args)) as T
    } catch {
      this.redisDownUntil = performance.now() + 500
      return undefined
    }
  }
}
