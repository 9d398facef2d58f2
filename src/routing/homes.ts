import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config.ts'
import type { Log } from '../log.ts'
import type { RedisClient } from '../redis/connections.ts'
import { within } from '../within.ts'
import { type Members, Membership } from './membership.ts'
import { place, shardOf } from './placement.ts'
import type { Peer } from './rpc.ts'

const jitterMs = 100
/** Delay after a notification, so that several changes are read at once. */
const settleMs = 10

/** Shards move one at a time to processes with fewer shards, when no process has joined or left for `calmMs`. */
export const usualPace = { beatMs: 400, calmMs: 10_000, balanceEveryMs: 1_000 }
export type Pace = typeof usualPace

export type Home = Peer | 'here'

/**
 * The home of each project, as this process knows it. Only a hint: two processes that both believe to be the home cost
 * time, because the lease and the commit's comparison keep them apart. While Redis is away, the last known homes stay.
 */
export class Homes {
  private readonly membership: Membership
  private readonly shards: number
  private members: Members = { peers: new Map(), assigned: [] }
  /** The ids of homes by shard. */
  private placed: string[] = []
  private changedAt = 0
  private movedAt = 0
  private hasLeft = false
  private isClosed = false
  private wake = () => {}

  /** Joins at once. Without `me` this process is no home, such as a worker. */
  constructor(
    redis: RedisClient,
    config: Pick<Config, 'redisUrl' | 'redisPrefix' | 'writeShards'>,
    private readonly me: Peer | undefined,
    private readonly log: Log,
    private readonly pace = usualPace,
  ) {
    this.shards = config.writeShards
    this.membership = new Membership(redis, config, log, () => this.wake())
    void this.follow()
  }

  /** Undefined when no process is usable. Processes that agree on usable ids agree on the home. */
  homeOf(projectId: string, isUsable: (id: string) => boolean): Home | undefined {
    const shard = shardOf(projectId, this.shards)
    const id = this.placed[shard]
    if (id === undefined || id === this.me?.id || isUsable(id)) return this.peerOf(id)
    const usable = [...this.members.peers.keys()].filter((id) => id === this.me?.id || isUsable(id))
    return this.peerOf(place(this.shards, usable, this.placed, false)[shard])
  }

  async leave(): Promise<void> {
    if (!this.me || this.hasLeft) return
    this.hasLeft = true
    this.learn(this.members)
    // While Redis is away, the others notice by their lost connections.
    await this.membership.leave(this.me).catch(() => {})
  }

  close(): void {
    this.isClosed = true
    this.wake()
    this.membership.close()
  }

  private async follow(): Promise<void> {
    while (!this.isClosed) {
      const changed = new Promise<void>((resolve) => (this.wake = resolve))
      await this.update().catch((error) => this.log.debug({ reason: String(error) }, 'homes not looked up'))
      await within(this.pace.beatMs + Math.random() * jitterMs, changed)
      await sleep(settleMs)
    }
  }

  private async update(): Promise<void> {
    // Leaves again: Redis may have been away, or another process that remembers this one has listed it.
    if (this.me && this.hasLeft) await this.membership.leave(this.me)
    const members = await this.membership.read(this.hasLeft ? undefined : this.me)
    this.learn(members)
    if (!this.me || this.hasLeft) return
    const now = performance.now()
    const { calmMs, balanceEveryMs } = this.pace
    const mayBalance = now - this.changedAt >= calmMs && now - this.movedAt >= balanceEveryMs
    const assigned = place(this.shards, [...members.peers.keys()], members.assigned, mayBalance)
    if (isSame(assigned, members.assigned)) return
    if (await this.membership.assign(assigned)) this.learn({ ...members, assigned })
  }

  private learn(members: Members): void {
    if (this.hasLeft) members.peers.delete(this.me!.id)
    const ids = [...members.peers.keys()]
    if (!isSame(ids, [...this.members.peers.keys()])) this.changedAt = performance.now()
    if (!isSame(members.assigned, this.members.assigned)) this.movedAt = performance.now()
    const before = this.ownShards()
    this.members = members
    this.placed = place(this.shards, ids, members.assigned, false)
    const shards = this.ownShards()
    if (!isSame(shards, before)) this.log.info({ shards, processes: ids.length }, 'home of these shards')
  }

  private ownShards(): number[] {
    return this.placed.flatMap((id, shard) => (id === this.me?.id ? [shard] : []))
  }

  private peerOf(id: string | undefined): Home | undefined {
    return id !== undefined && id === this.me?.id ? 'here' : this.members.peers.get(id ?? '')
  }
}

const isSame = <T>(a: T[], b: T[]) => a.length === b.length && a.every((one, i) => one === b[i])
