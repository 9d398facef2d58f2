import type { Redis } from 'ioredis'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config.ts'
import type { Log } from '../logger.ts'
import type { RedisClient } from '../redis/connections.ts'
import { within } from '../waits.ts'
import { unreachableHost, type Peer } from './rpc.ts'
import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'

const jitterMs = 100
const debounceMs = 10

/** After `stableMs` without a join or leave, one shard moves every `balanceEveryMs` until the load is even. */
export const defaultTiming = { heartbeatMs: 400, stableMs: 10_000, balanceEveryMs: 1_000 }
export type Timing = typeof defaultTiming

export type Home = Peer | 'here'

/**
 * Finds the home of a project: the process that writes its shard. Two processes may act as the home for a moment:
 * leases and commits prevent conflicts. While Redis is unavailable, the last known homes stay in use.
 */
export class Placement {
  private readonly membership: Membership
  private readonly shards: number
  private members: Members = { peers: new Map(), assignment: [] }
  private homes: string[] = []
  private membersChangedAt = 0
  private assignmentChangedAt = 0
  private lastProblem: string | undefined
  private hasLeft = false
  private isClosed = false
  private wake = () => {}

  constructor(
    redis: RedisClient,
    subscriber: Redis,
    config: Pick<Config, 'redisPrefix' | 'writeShards'>,
    private readonly self: Peer | undefined,
    private readonly log: Log,
    private readonly timing = defaultTiming,
  ) {
    this.shards = config.writeShards
    this.membership = new Membership(redis, subscriber, config, () => this.wake())
    void this.poll()
  }

  /** Returns undefined when no process is usable. Processes with the same usable peers return the same home. */
  homeOf(projectId: string, isUsable: (id: string) => boolean): Home | undefined {
    const shard = shardOf(projectId, this.shards)
    const id = this.homes[shard]
    if (id === undefined || id === this.self?.id || isUsable(id)) return this.peerOf(id)
    const usable = [...this.members.peers.keys()].filter((id) => id === this.self?.id || isUsable(id))
    return this.peerOf(assignShards(this.shards, usable, this.homes, false)[shard])
  }

  isHome(): boolean {
    return this.ownShards().length > 0
  }

  /** Returns what the operator must do if other processes are alive but cannot reach this process. */
  problem(): string | undefined {
    return this.self && unreachableHost(this.self, this.members.peers.values())
  }

  async leave(): Promise<void> {
    if (!this.self || this.hasLeft) return
    this.hasLeft = true
    this.setMembers(this.members)
    // Without Redis, other processes notice when their connections close.
    await this.membership.leave(this.self).catch(() => {})
  }

  close(): void {
    this.isClosed = true
    this.wake()
  }

  private async poll(): Promise<void> {
    while (!this.isClosed) {
      const changed = new Promise<void>((resolve) => (this.wake = resolve))
      await this.update().catch((error) =>
        this.log.debug({ reason: String(error) }, 'cannot read the membership from Redis'),
      )
      await within(this.timing.heartbeatMs + Math.random() * jitterMs, changed)
      await sleep(debounceMs)
    }
  }

  private async update(): Promise<void> {
    // Leaves again, because Redis may have been unavailable before, or another process may have restored this member
    // after Redis lost its data.
    if (this.self && this.hasLeft) await this.membership.leave(this.self)
    const members = await this.membership.read(this.hasLeft ? undefined : this.self)
    this.setMembers(members)
    if (!this.self || this.hasLeft) return
    const now = performance.now()
    const { stableMs, balanceEveryMs } = this.timing
    const mayBalance =
      now - this.membersChangedAt >= stableMs && now - this.assignmentChangedAt >= balanceEveryMs
    const assignment = assignShards(this.shards, [...members.peers.keys()], members.assignment, mayBalance)
    if (isEqual(assignment, members.assignment)) return
    if (await this.membership.assign(assignment)) this.setMembers({ ...members, assignment })
  }

  private setMembers(members: Members): void {
    if (this.hasLeft) members.peers.delete(this.self!.id)
    const ids = [...members.peers.keys()]
    if (!isEqual(ids, [...this.members.peers.keys()])) this.membersChangedAt = performance.now()
    if (!isEqual(members.assignment, this.members.assignment)) this.assignmentChangedAt = performance.now()
    const before = this.ownShards()
    this.members = members
    this.homes = assignShards(this.shards, ids, members.assignment, false)
    const problem = this.problem()
    if (problem && problem !== this.lastProblem) this.log.warn(problem)
    this.lastProblem = problem
    const shards = this.ownShards()
    if (!isEqual(shards, before))
      this.log.info({ shards, processes: ids.length }, 'this process is the home of these shards')
  }

  private ownShards(): number[] {
    return this.homes.flatMap((id, shard) => (id === this.self?.id ? [shard] : []))
  }

  private peerOf(id: string | undefined): Home | undefined {
    return id !== undefined && id === this.self?.id ? 'here' : this.members.peers.get(id ?? '')
  }
}

const isEqual = <T>(a: T[], b: T[]) => a.length === b.length && a.every((value, i) => value === b[i])

/**
 * A shard stays with a live process. If `mayBalance`, at most one shard moves. All processes compute the same result.
 */
export function assignShards(
  shards: number,
  live: string[],
  previous: (string | undefined)[],
  mayBalance: boolean,
) {
  const counts = new Map([...new Set(live)].sort().map((id) => [id, 0]))
  if (counts.size === 0) return []
  const addShard = (id: string) => counts.set(id, counts.get(id)! + 1)
  const liveHomes = Array.from({ length: shards }, (_, shard) =>
    counts.has(previous[shard]!) ? previous[shard] : undefined,
  )
  for (const home of liveHomes) if (home !== undefined) addShard(home)
  const homes = liveHomes.map((home, shard) => {
    if (home !== undefined) return home
    const taker = highestWeight(leastLoaded(counts), shard)
    addShard(taker)
    return taker
  })
  return mayBalance && !liveHomes.includes(undefined) ? moveOneShard(homes, counts) : homes
}

function moveOneShard(homes: string[], counts: ReadonlyMap<string, number>): string[] {
  const most = Math.max(...counts.values())
  if (most - Math.min(...counts.values()) < 2) return homes
  const takers = leastLoaded(counts)
  const movable = homes.flatMap((home, shard) =>
    counts.get(home) === most ? [{ shard, taker: highestWeight(takers, shard) }] : [],
  )
  const { shard, taker } = movable.reduce((a, b) =>
    weight(b.taker, b.shard) > weight(a.taker, a.shard) ? b : a,
  )
  return homes.with(shard, taker)
}

function leastLoaded(counts: ReadonlyMap<string, number>): string[] {
  const least = Math.min(...counts.values())
  return [...counts].flatMap(([id, shards]) => (shards === least ? [id] : []))
}

const highestWeight = (ids: string[], shard: number): string =>
  ids.reduce((a, b) => (weight(b, shard) > weight(a, shard) ? b : a))

/** Rendezvous hashing: the rank of a process for a shard. */
const weight = (id: string, shard: number): number => mixBits(hashOf(id) ^ Math.imul(shard + 1, 0x9e3779b1))

export const shardOf = (projectId: string, shards: number): number => hashOf(projectId) % shards

/** FNV-1a, followed by `mixBits` because its low bits are weak. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return mixBits(hash)
}

/** The finalizer of MurmurHash3. */
function mixBits(hash: number): number {
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** `peers` is in ascending order of the ids. `assignment` contains the process id of each shard. */
export type Members = { peers: Map<string, Peer>; assignment: string[] }

const peerSchema = Type.Object({
  id: Type.String(),
  host: Type.String({ minLength: 1 }),
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
  machine: Type.Optional(Type.String()),
})

/** Reads and writes the list of live processes in Redis. If Redis loses its data, each process restores the list. */
export class Membership {
  private readonly channel: string
  private readonly membersKey: string
  private readonly assignmentKey: string
  private last = { assignment: '', living: [] as string[] }

  constructor(
    private readonly redis: RedisClient,
    subscriber: Redis,
    config: Pick<Config, 'redisPrefix' | 'writeShards'>,
    onChange: () => void,
  ) {
    // With one hash tag, a Redis Cluster can run the scripts. The number changes with the protocol in rpc.ts, so that
    // processes with different protocols never list each other.
    const name = `${config.redisPrefix}:{homes-2}`
    this.channel = `${name}:channel`
    this.membersKey = `${name}:living`
    this.assignmentKey = `${name}:of-${config.writeShards}`
    const subscribe = () => void subscriber.subscribe(this.channel).then(onChange, () => {})
    redis.on('ready', onChange)
    subscriber.on('message', (channel) => channel === this.channel && onChange())
    subscriber.on('ready', subscribe)
    if (subscriber.status === 'ready') subscribe()
  }

  async read(me: Peer | undefined): Promise<Members> {
    const own = me && JSON.stringify(me)
    const known = [this.last.assignment, ...this.last.living.filter((member) => member !== own)]
    const [script, args] = own ? [heartbeatScript, [this.channel, own, ...known]] : [readScript, []]
    const reply = await this.redis.eval(script, 2, this.membersKey, this.assignmentKey, ...args)
    const [assignment = '', ...living] = reply as string[]
    this.last = { assignment, living }
    const ids = parseJson(revisionFormat.exec(assignment)?.[2] ?? '')
    const peers = living.map(parseJson).filter((peer): peer is Peer => Value.Check(peerSchema, peer))
    peers.sort((a, b) => (a.id < b.id ? -1 : 1))
    return {
      peers: new Map(peers.map((peer) => [peer.id, peer])),
      assignment: Value.Check(Type.Array(Type.String()), ids) ? ids : [],
    }
  }

  async assign(wanted: string[]): Promise<boolean> {
    const revision = Number(revisionFormat.exec(this.last.assignment)?.[1] ?? 0)
    const text = `${(revision % 999_999_999) + 1} ${JSON.stringify(wanted)}`
    const keys = [this.assignmentKey, this.channel, this.last.assignment]
    const wasAssigned = (await this.redis.eval(assignScript, 1, ...keys, text)) === 1
    if (wasAssigned) this.last.assignment = text
    return wasAssigned
  }

  async leave(me: Peer): Promise<void> {
    const removed = await this.redis.zrem(this.membersKey, JSON.stringify(me))
    if (removed > 0) await this.redis.publish(this.channel, 'living')
  }
}

const revisionFormat = /^(\d{1,9}) (.*)$/s

/** Another release may have written text that is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

// A sorted set lists the live processes with the time of their last heartbeat, on the clock of Redis. A string contains
// the revision of the assignment, which only grows, and the process of each shard: '7 ["a","b"]'.

const memberTtlMs = 2_000
/** If no process sent a heartbeat for this long, Redis was down or its clock was changed. Then no process is removed. */
const outageMs = 1_000
const keyTtlMs = 10_000
const maxMembers = 1_000
/**
 * KEYS members, assignment · ARGV channel, own member, last assignment, last members… → assignment, members… If Redis
 * lost its data, the script restores what the caller read last.
 */
const heartbeatScript = `
local function revision(text)
  local digits = string.match(text, '^(%d+) ')
  return digits and #digits < 10 and tonumber(digits) or 0
end
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local changes = 0
local isLost = redis.call('type', KEYS[1]).ok ~= 'zset'
if isLost then redis.call('del', KEYS[1]) end
if redis.call('type', KEYS[2]).ok ~= 'string' then redis.call('del', KEYS[2]) end
if revision(redis.call('get', KEYS[2]) or '') < revision(ARGV[3]) then
  redis.call('set', KEYS[2], ARGV[3])
  isLost = true
end
for i = 4, isLost and #ARGV or 0 do changes = changes + redis.call('zadd', KEYS[1], 'nx', now, ARGV[i]) end
local latest = tonumber(redis.call('zrevrange', KEYS[1], 0, 0, 'withscores')[2])
if latest and (latest > now or latest < now - ${outageMs}) then
  for _, member in ipairs(redis.call('zrange', KEYS[1], 0, -1)) do redis.call('zadd', KEYS[1], now, member) end
end
changes = changes + redis.call('zadd', KEYS[1], now, ARGV[2])
  + redis.call('zremrangebyscore', KEYS[1], '-inf', now - ${memberTtlMs})
redis.call('pexpire', KEYS[1], ${keyTtlMs})
redis.call('pexpire', KEYS[2], ${keyTtlMs})
if changes > 0 then redis.call('publish', ARGV[1], 'living') end
return { redis.call('get', KEYS[2]) or '', unpack(redis.call('zrange', KEYS[1], 0, ${maxMembers - 1})) }`

/** KEYS members, assignment → assignment, members… */
const readScript = `
local living = redis.call('type', KEYS[1]).ok == 'zset' and redis.call('zrange', KEYS[1], 0, ${maxMembers - 1}) or {}
local assignment = redis.call('type', KEYS[2]).ok == 'string' and redis.call('get', KEYS[2]) or ''
return { assignment, unpack(living) }`

/** KEYS assignment · ARGV channel, expected assignment, new assignment → 1, or 0 if the assignment has changed. */
const assignScript = `
if (redis.call('get', KEYS[1]) or '') ~= ARGV[2] then return 0 end
redis.call('set', KEYS[1], ARGV[3], 'px', ${keyTtlMs})
redis.call('publish', ARGV[1], 'assignment')
return 1`
