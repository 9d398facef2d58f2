import type { Redis } from 'ioredis'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config.ts'
import type { Log } from '../logger.ts'
import type { RedisClient } from '../redis/connections.ts'
import { within } from '../waits.ts'
import { type Members, Membership } from './membership.ts'
import { unreachableHost, type Peer } from './rpc.ts'

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
