import type { Redis } from 'ioredis'
import type { Config } from '../config.ts'
import { newLeaseCounts } from '../metrics/counts.ts'
import { hashTag, type RedisClient } from '../redis/connections.ts'
import { within } from '../waits.ts'

// A lease is a key with the holder's process id and a time to live. A list in a second key queues waiting processes.
// Each process subscribes to its own channel: "want <project>" asks for the lease, "take <project>" hands it over. During an
// upgrade, processes of two releases hand leases over to each other.

/** KEYS lease, queue · ARGV process id, ttlMs, channel prefix, project → 0 if acquired, else ms until the lease ends. */
const acquireScript = `
local holder = redis.call('get', KEYS[1])
if not holder or holder == ARGV[1] then
  redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
  redis.call('lrem', KEYS[2], 0, ARGV[1])
  return 0
end
if not redis.call('lpos', KEYS[2], ARGV[1]) then
  redis.call('rpush', KEYS[2], ARGV[1])
  redis.call('pexpire', KEYS[2], 60000)
end
redis.call('publish', ARGV[3] .. holder, 'want ' .. ARGV[4])
return math.max(redis.call('pttl', KEYS[1]), 1)`

/**
 * KEYS lease, queue · ARGV process id, ttlMs, channel prefix, project, 1 in a cluster
 * Hands the lease to the first waiting process that is still subscribed.
 */
const releaseScript = `
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
local nextUp = redis.call('lpop', KEYS[2])
while nextUp do
  local receivers = nextUp ~= ARGV[1] and redis.call('publish', ARGV[3] .. nextUp, 'take ' .. ARGV[4])
  -- A cluster node counts only the subscribers of that node.
  if receivers and (receivers > 0 or ARGV[5] == '1') then
    redis.call('set', KEYS[1], nextUp, 'px', ARGV[2])
    local after = redis.call('lindex', KEYS[2], 0)
    if after then redis.call('publish', ARGV[3] .. nextUp, 'want ' .. ARGV[4]) end
    return 1
  end
  nextUp = redis.call('lpop', KEYS[2])
end
redis.call('del', KEYS[1])
return 1`

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
    const own = this.channels + this.processId
    subscriber.on('message', (channel, message) => channel === own && this.receive(message))
    // ioredis cannot subscribe before the connection is ready.
    subscriber.on('ready', () => void subscriber.subscribe(own).catch(() => {}))
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
    if (mine && performance.now() < mine.until) await this.release(projectId)
    // Waits for a frozen holder until its lease has expired, but at most half the write timeout.
    const giveUpAt = performance.now() + Math.min(this.config.leaseTtlMs * 2, this.config.writeTimeoutMs / 2)
    let isUntouched = true
    while (performance.now() < giveUpAt && performance.now() >= this.redisDownUntil) {
      // Registers before the script runs: the hand-over may arrive before the reply of the script.
      const handedOver = new Promise<true>((resolve) => this.waiters.set(projectId, () => resolve(true)))
      const sent = performance.now()
      const waitMs = await this.runScript<number>(acquireScript, this.keys(projectId), projectId)
      if (waitMs) {
        this.counts.waits++
        isUntouched = false
      } else this.setHeld(projectId, sent)
      const taken = !waitMs || (await within(Math.min(waitMs, giveUpAt - performance.now()), handedOver))
      this.waiters.delete(projectId)
      if (taken) return isUntouched
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

  private setHeld(projectId: string, since: number): void {
    const until = since + this.config.leaseTtlMs
    this.held.set(projectId, { until, since, idleSince: null, isRequested: false })
  }

  private async release(projectId: string): Promise<void> {
    this.held.delete(projectId)
    await this.runScript(releaseScript, this.keys(projectId), projectId)
  }

  private receive(message: string): void {
    const [verb, projectId = ''] = message.split(' ')
    if (verb === 'take') {
      this.counts.handOvers++
      const waiter = this.waiters.get(projectId)
      this.setHeld(projectId, performance.now())
      if (waiter) waiter()
      else void this.release(projectId)
      return
    }
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
    const leases = projectIds.map((id) => this.keys(id)[0]!)
    const mine = await this.runScript<number[]>(renewScript, leases)
    projectIds.forEach((id, i) => {
      const held = this.held.get(id)
      if (held && mine?.[i]) held.until = sent + this.config.leaseTtlMs
      else if (held && mine) this.held.delete(id)
    })
  }

  private keys(projectId: string): string[] {
    const name = this.redis.isCluster ? hashTag(projectId) : projectId
    return [`${this.config.redisPrefix}:lease:${name}`, `${this.config.redisPrefix}:lease-queue:${name}`]
  }

  /** Returns undefined if Redis is unavailable. Then `acquire` does not use Redis for half a second. */
  private async runScript<T>(script: string, keys: string[], projectId = ''): Promise<T | undefined> {
    try {
      const { leaseTtlMs } = this.config
      const args = [this.processId, leaseTtlMs, this.channels, projectId, this.redis.isCluster ? 1 : 0]
      return (await this.redis.eval(script, keys.length, ...keys, ...args)) as T
    } catch {
      this.redisDownUntil = performance.now() + 500
      return undefined
    }
  }
}
