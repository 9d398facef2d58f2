import type { Peer } from './rpc.ts'
import type { Config } from '../config.ts'
import type { Log } from '../log.ts'
import { Assignment, type Home } from './assignment.ts'
import { Directory, type Known } from './directory.ts'
import { place, shardOf } from './placement.ts'
import type { RedisClient } from '../redis/connections.ts'

const jitterMs = 100
/** What is heard of is looked at so soon: several changes at once. */
const soonMs = 10

export interface Pace {
  beatMs: number
  /** Nobody came or went for so long: now shards may move to those that have fewer, one after another. */
  calmMs: number
  balanceEveryMs: number
}
export const usualPace: Pace = { beatMs: 400, calmMs: 10_000, balanceEveryMs: 1_000 }

type HomesConfig = Pick<Config, 'redisUrl' | 'redisPrefix' | 'writeHomes'>

/**
 * Where each project is written. Only a hint: two processes that each believe to be home cost time, for the lease keeps
 * them apart and the commit compares versions. Without Redis, what was known last goes on being used.
 */
export class Homes {
  private readonly directory: Directory
  private readonly shards: number
  private assignment: Assignment
  private known: Known = { peers: new Map(), assigned: [] }
  private changedAt = 0
  private movedAt = 0
  private timer: ReturnType<typeof setTimeout> | undefined
  private state: 'new' | 'beating' | 'resting' | 'closed' = 'new'
  private hasHeard = false
  private hasLeft = false

  /** A worker is nobody's home: without `me` it only reads. */
  constructor(
    redis: RedisClient,
    config: HomesConfig,
    private readonly me: Peer | undefined,
    private readonly log: Log,
    private readonly pace = usualPace,
  ) {
    this.shards = config.writeHomes
    this.directory = new Directory(redis, config, log, () => this.hear())
    this.assignment = new Assignment(this.shards, this.known, me?.id)
  }

  /** The process to ask; undefined when none is known that can be used. */
  homeOf(projectId: string, isUsable: (id: string) => boolean): Home | undefined {
    return this.assignment.homeOf(shardOf(projectId, this.shards), isUsable)
  }

  /** Begins to beat. */
  start(): void {
    if (this.state === 'new') void this.beat()
  }

  /** Leaves the directory: others take over at once. From now on this process only reads, to know whom to ask. */
  async leave(): Promise<void> {
    if (!this.me || this.hasLeft) return
    this.hasLeft = true
    this.learn(this.known)
    // While Redis is away, they see it by the way to this process.
    await this.directory.leave(this.me).catch(() => {})
  }

  close(): void {
    this.state = 'closed'
    clearTimeout(this.timer)
    this.directory.close()
  }

  private hear(): void {
    if (this.state === 'beating') this.hasHeard = true
    if (this.state === 'resting') this.rest(soonMs)
  }

  private rest(ms: number): void {
    if (this.state === 'closed') return
    this.state = 'resting'
    clearTimeout(this.timer)
    this.timer = setTimeout(() => void this.beat(), ms)
  }

  private async beat(): Promise<void> {
    this.state = 'beating'
    this.hasHeard = false
    await this.look().catch((error) => this.log.debug({ reason: String(error) }, 'homes not looked up'))
    this.rest(this.hasHeard ? soonMs : this.pace.beatMs + Math.random() * jitterMs)
  }

  private async look(): Promise<void> {
    const known = this.hasLeft ? await this.lookBack() : await this.directory.look(this.me)
    this.learn(known)
    if (!this.me || this.hasLeft) return
    const ids = [...known.peers.keys()]
    const wanted = place(this.shards, ids, known.assigned, this.mayBalance())
    if (isSame(wanted, known.assigned)) return
    if (await this.directory.assign(wanted)) this.learn({ ...known, assigned: wanted })
  }

  /** Leaves again: Redis may have been away, or been told of this process by another that remembers it. */
  private async lookBack(): Promise<Known> {
    await this.directory.leave(this.me!)
    return this.directory.look(undefined)
  }

  private mayBalance(): boolean {
    const now = performance.now()
    const { calmMs, balanceEveryMs } = this.pace
    return now - this.changedAt >= calmMs && now - this.movedAt >= balanceEveryMs
  }

  private learn({ peers, assigned }: Known): void {
    if (this.hasLeft) peers.delete(this.me!.id)
    const before = this.known
    this.known = { peers, assigned }
    const isMoved = !isSame(assigned, before.assigned)
    const isChanged = !isSame([...peers.keys()], [...before.peers.keys()])
    if (isMoved) this.movedAt = performance.now()
    if (isChanged) this.changedAt = performance.now()
    if (isMoved || isChanged || this.hasLeft) this.assume()
  }

  private assume(): void {
    const before = this.assignment.here()
    this.assignment = new Assignment(this.shards, this.known, this.me?.id)
    const shards = this.assignment.here()
    if (!isSame(shards, before))
      this.log.info({ shards, processes: this.known.peers.size }, 'home of these shards')
  }
}

const isSame = <T>(a: T[], b: T[]) => a.length === b.length && a.every((one, i) => one === b[i])
