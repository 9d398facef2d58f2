import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { Redis } from 'ioredis'
import type { Config } from '../config.ts'
import type { RedisClient } from '../redis/connections.ts'
import type { Peer } from './rpc.ts'

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
