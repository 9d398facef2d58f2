import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config.ts'
import type { Log } from '../logger.ts'
import type { RedisClient } from '../redis/connections.ts'
import { repeatedly } from '../waits.ts'
import { unreachableHost, type Peer } from './rpc.ts'

/** After `stableMs` without a join or leave, one shard moves every `balanceEveryMs` until the load is even. */
export const defaultTiming = { heartbeatMs: 400, stableMs: 10_000, balanceEveryMs: 1_000 }
export type Timing = typeof defaultTiming

export type Home = Peer | 'here'

/**
 * Finds the home of a project: the process that writes its shard. Two processes may act as the home for a moment:
 * leases and commits prevent conflicts. While Redis is unavailable, the last known homes stay in use.
 */
export class Placement {
  private readonly shards: number
  private readonly keys: string[]
  private readonly stop: () => Promise<void>
  private peers: Peer[] = []
  /** The home of each shard; undefined until another process replaces this one. */
  private homes: (Home | undefined)[] = []
  private lastProblem: string | undefined
  private hasLeft = false

  constructor(
    private readonly redis: RedisClient,
    config: Pick<Config, 'redisPrefix' | 'writeShards'>,
    private readonly self: Peer | undefined,
    private readonly log: Log,
    private readonly timing = defaultTiming,
  ) {
    this.shards = config.writeShards
    // With one hash tag, a Redis Cluster can run the script. The number changes with the protocol in rpc.ts, so that
    // processes with different protocols never list each other.
    const name = `${config.redisPrefix}:{homes-2}`
    const ofShards = `${name}:homes-of-${this.shards}`
    this.keys = [`${name}:living`, ofShards, `${ofShards}:pause`]
    this.stop = repeatedly(() => this.update(), timing.heartbeatMs, log)
    void this.update().catch(() => {})
  }

  /** Returns undefined when no process is usable. Processes with the same usable peers return the same home. */
  homeOf(projectId: string, isUsable: (id: string) => boolean): Home | undefined {
    const shard = shardOf(projectId, this.shards)
    const home = this.homes[shard]
    if (home === 'here' || (home && isUsable(home.id))) return home
    const usable = this.peers.filter(({ id }) => this.isSelf(id) || isUsable(id))
    return this.homeAt(usable[shard % usable.length])
  }

  isHome(): boolean {
    return this.homes.includes('here')
  }

  /** Returns what the operator must do if other processes are alive but cannot reach this process. */
  problem(): string | undefined {
    return this.self && unreachableHost(this.self, this.peers)
  }

  /** Then waits until the other processes have read the list, because they send commands to this process until then. */
  async leave(timeoutMs: number): Promise<void> {
    if (!this.self || this.hasLeft) return
    this.hasLeft = true
    this.peers = this.peers.filter(({ id }) => !this.isSelf(id))
    this.homes = this.homes.map((home) => (home === 'here' ? undefined : home))
    // Without Redis, the other processes notice when their connections close.
    await this.redis.zrem(this.keys[0]!, JSON.stringify(this.self)).catch(() => {})
    if (this.peers.length > 0) await sleep(Math.min(2 * this.timing.heartbeatMs, timeoutMs))
  }

  close(): void {
    void this.stop()
  }

  private async update(): Promise<void> {
    const { stableMs, balanceEveryMs } = this.timing
    const own = this.self && !this.hasLeft ? JSON.stringify(this.self) : ''
    const args = [own, this.shards, stableMs, balanceEveryMs]
    const reply = await this.redis.eval(heartbeatScript, this.keys.length, ...this.keys, ...args)
    const [members, homes] = reply as [string[], string[]]
    this.peers = members.sort().map((member) => JSON.parse(member) as Peer)
    this.homes = homes.map((home) => this.homeAt(this.peers[members.indexOf(home)]))
    const problem = this.problem()
    if (problem && problem !== this.lastProblem) this.log.warn(problem)
    this.lastProblem = problem
  }

  private isSelf(id: string): boolean {
    return id === this.self?.id
  }

  private homeAt(peer: Peer | undefined): Home | undefined {
    return peer && this.isSelf(peer.id) ? 'here' : peer
  }
}

/** FNV-1a, followed by the finalizer of MurmurHash3 because its low bits are weak. */
export function shardOf(projectId: string, shards: number): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < projectId.length; i++) hash = Math.imul(hash ^ projectId.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) % shards
}

const memberTtlMs = 2_000
/** If no process sent a heartbeat for this long, Redis was down or its clock was changed. Then no process is removed. */
const outageMs = 1_000
const keyTtlMs = 10_000

/**
 * KEYS members: the live processes with the time of their last heartbeat, on the clock of Redis; homes: the process of
 * each shard; pause: exists while no shard may move to another live process
 * ARGV own member or '', shards, stableMs, balanceEveryMs → members, homes
 * A shard stays with a live process. A shard without one gets a process with the fewest shards.
 */
const heartbeatScript = `
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local latest = tonumber(redis.call('zrevrange', KEYS[1], 0, 0, 'withscores')[2])
if latest and (latest > now or latest < now - ${outageMs}) then
  for _, member in ipairs(redis.call('zrange', KEYS[1], 0, -1)) do redis.call('zadd', KEYS[1], now, member) end
end
local changes = redis.call('zremrangebyscore', KEYS[1], '-inf', now - ${memberTtlMs})
if ARGV[1] ~= '' then changes = changes + redis.call('zadd', KEYS[1], now, ARGV[1]) end
local members, homes, counts = redis.call('zrange', KEYS[1], 0, -1), {}, {}
if #members == 0 then return { {}, {} } end
for _, member in ipairs(members) do counts[member] = 0 end
local function place(shard, home)
  homes[shard] = home
  counts[home] = counts[home] + 1
end
local function leastLoaded()
  local least = members[1]
  for _, member in ipairs(members) do if counts[member] <= counts[least] then least = member end end
  return least
end
for shard = 1, tonumber(ARGV[2]) do
  local home = redis.call('hget', KEYS[2], shard)
  if counts[home] then place(shard, home) end
end
for shard = 1, tonumber(ARGV[2]) do
  if not homes[shard] then
    place(shard, leastLoaded())
    redis.call('hset', KEYS[2], shard, homes[shard])
    changes = changes + 1
  end
end
if changes > 0 then redis.call('set', KEYS[3], '', 'px', ARGV[3])
elseif redis.call('exists', KEYS[3]) == 0 then
  for shard, home in ipairs(homes) do
    if counts[home] - counts[leastLoaded()] > 1 then
      place(shard, leastLoaded())
      redis.call('hset', KEYS[2], shard, homes[shard])
      redis.call('set', KEYS[3], '', 'px', ARGV[4])
      break
    end
  end
end
redis.call('pexpire', KEYS[1], ${keyTtlMs})
redis.call('pexpire', KEYS[2], ${keyTtlMs})
return { members, homes }`
