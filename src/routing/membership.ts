import type { Redis } from 'ioredis'
import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { Config } from '../config.ts'
import type { RedisClient } from '../redis/connections.ts'
import { assignScript, heartbeatScript, readScript } from './membership-scripts.ts'
import type { Peer } from './rpc.ts'

/** `peers` is in ascending order of the ids. `assignment` contains the process id of each shard. */
export type Members = { peers: Map<string, Peer>; assignment: string[] }

const peerSchema = Type.Object({
  id: Type.String(),
  host: Type.String({ minLength: 1 }),
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
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
