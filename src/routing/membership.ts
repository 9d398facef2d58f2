import type { Redis } from 'ioredis'
import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { Config } from '../config.ts'
import type { Log } from '../log.ts'
import { disconnect, openSubscriber, type RedisClient } from '../redis/connections.ts'
import { assignScript, beatScript, readScript } from './membership-scripts.ts'
import type { Peer } from './rpc.ts'

/** The live processes, in order of their ids, and the id of the process that has each shard. */
export type Members = { peers: Map<string, Peer>; assigned: string[] }

const peerSchema = Type.Object({
  id: Type.String(),
  host: Type.String({ minLength: 1 }),
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
})

/** The live processes in Redis. Processes remember them while Redis is away, and restore them where Redis lost them. */
export class Membership {
  private readonly subscriber: Redis
  private readonly channel: string
  private readonly living: string
  private readonly assignment: string
  private last = { assignment: '', living: [] as string[] }

  /** @param onChange is called when something may have changed; notifications may be lost */
  constructor(
    private readonly redis: RedisClient,
    config: Pick<Config, 'redisUrl' | 'redisPrefix' | 'writeShards'>,
    log: Log,
    onChange: () => void,
  ) {
    // One hash tag, so that a Redis Cluster runs the scripts. The name changes with the protocol of rpc.ts, so that
    // processes of different protocols do not see each other.
    const name = `${config.redisPrefix}:{homes-2}`
    this.channel = `${name}:channel`
    this.living = `${name}:living`
    // Processes with another number of shards have another assignment.
    this.assignment = `${name}:of-${config.writeShards}`
    this.subscriber = openSubscriber(config.redisUrl, log)
    redis.on('ready', onChange)
    this.subscriber.on('message', onChange)
    this.subscriber.on('ready', () => void this.subscriber.subscribe(this.channel).then(onChange, () => {}))
  }

  /** Reads the members, and lists `me` as alive. @throws when Redis is away. */
  async read(me: Peer | undefined): Promise<Members> {
    this.subscriber.ping().catch(() => {}) // a silent connection is noticed by its missing reply
    const own = me && JSON.stringify(me)
    const remembered = [this.last.assignment, ...this.last.living.filter((one) => one !== own)]
    const [script, args] = own ? [beatScript, [this.channel, own, ...remembered]] : [readScript, []]
    const reply = await this.redis.eval(script, 2, this.living, this.assignment, ...args)
    const [assignment = '', ...living] = reply as string[]
    this.last = { assignment, living }
    const ids = parsed(numbered.exec(assignment)?.[2] ?? '')
    const assigned = Value.Check(Type.Array(Type.String()), ids) ? ids : []
    const peers = living.map(parsed).filter((peer): peer is Peer => Value.Check(peerSchema, peer))
    peers.sort((a, b) => (a.id < b.id ? -1 : 1))
    return { peers: new Map(peers.map((peer) => [peer.id, peer])), assigned }
  }

  /** False when another process has assigned meanwhile. @throws when Redis is away. */
  async assign(wanted: string[]): Promise<boolean> {
    const revision = Number(numbered.exec(this.last.assignment)?.[1] ?? 0)
    const text = `${(revision % 999_999_999) + 1} ${JSON.stringify(wanted)}`
    const keys = [this.assignment, this.channel, this.last.assignment]
    const isTaken = (await this.redis.eval(assignScript, 1, ...keys, text)) === 1
    if (isTaken) this.last.assignment = text
    return isTaken
  }

  /** @throws when Redis is away. */
  async leave(me: Peer): Promise<void> {
    const removed = await this.redis.zrem(this.living, JSON.stringify(me))
    if (removed > 0) await this.redis.publish(this.channel, 'living')
  }

  close(): void {
    disconnect(this.subscriber)
  }
}

const numbered = /^(\d{1,9}) (.*)$/s

/** Undefined for what other versions may have written there. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
