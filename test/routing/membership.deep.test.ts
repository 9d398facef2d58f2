import { Membership } from '../../src/routing/membership.ts'
import { disconnect, disposable, eventually, freshRedis, openLog, openRedis, openSubscriber } from '../kit.ts'
import { readConfig, upTo } from '../kit.ts'
import type { FreshRedis } from '../kit.ts'
import { agreed, type Member, openMember } from './member.ts'
import { assignShards } from '../../src/routing/placement.ts'

const shards = '5'

/** Members on their own Redis server, which a test may stop, flush or corrupt. */
class MemberGroup {
  redis!: FreshRedis
  members: Member[] = []
  private runs = 0
  private env: Record<string, string> = {}

  constructor() {
    beforeAll(async () => {
      this.redis = await freshRedis()
    })
    afterEach(() => this.members.splice(0).forEach((member) => member.close()))
    afterAll(() => this.redis.stop())
  }

  /** Starts three members with five shards. A new assignment would place the shards differently. */
  async start(): Promise<string[]> {
    this.env = { REDIS_URL: this.redis.url, REDIS_PREFIX: `run${++this.runs}`, WRITE_SHARDS: shards }
    for (const id of ['p', 'q', 'r', 's']) await this.join(id)
    await this.leave('p')
    await this.join('t')
    const view = await this.leave('q')
    expect(view).not.toEqual(assignShards(Number(shards), ['r', 's', 't'], [], false))
    await this.untilAllHaveRead(view)
    return view
  }

  /** The view alone does not show whether a member has read the stored assignment. */
  private async untilAllHaveRead(view: string[]): Promise<void> {
    const isStored = async () => (await this.stored()).endsWith(` ${JSON.stringify(view)}`)
    await eventually('the assignment to be stored', isStored)
    const [seconds, micros] = (await this.command('TIME')) as string[]
    const now = Number(seconds) * 1_000 + Number(micros) / 1_000
    await eventually('all members to read the assignment', async () => {
      const heartbeats = await this.command('ZRANGE', this.living(), '0', '-1', 'WITHSCORES')
      return (heartbeats as [string, number][]).every(([, at]) => at > now)
    })
  }

  async join(id: string): Promise<string[]> {
    this.members.push(openMember(this.env, id))
    return agreed(this.members)
  }

  async leave(id: string): Promise<string[]> {
    const leaving = this.members.find((member) => member.id === id)!
    await leaving.leave()
    leaving.close()
    this.members = this.members.filter((member) => member !== leaving)
    return agreed(this.members)
  }

  async expectStable(before: string[], heartbeats = 6): Promise<void> {
    const began = performance.now()
    await eventually('some heartbeats', () => {
      for (const member of this.members) expect(member.view()).toEqual(before)
      return performance.now() - began > heartbeats * 500
    })
    expect(this.members.filter((member) => !this.listsAll(member))).toEqual([])
  }

  async command(...words: string[]): Promise<unknown> {
    const client = new Bun.RedisClient(this.redis.url)
    const reply = await client.send(words[0]!, words.slice(1))
    client.close()
    return reply
  }

  living = () => `run${this.runs}:{homes-2}:living`
  assignment = () => `run${this.runs}:{homes-2}:of-${shards}`
  stored = async () => String(await this.command('GET', this.assignment()))
  listed = async () => (await this.command('ZRANGE', this.living(), '0', '-1')) as string[]

  /** Returns true if each member becomes a home when all other members are lost. */
  private listsAll(member: Member): boolean {
    const ids = this.members.map(({ id }) => id)
    return ids.every((id) => member.view(ids.filter((other) => other !== id)).includes(id))
  }
}

const entryOf = (id: string) => JSON.stringify({ id, host: '127.0.0.1', port: 1 })

const group = new MemberGroup()

test('a change without notification is noticed at the next heartbeat', async () => {
  await group.start()
  const [dead, ...rest] = group.members as [Member, ...Member[]]
  dead.close()
  const [entry] = (await group.listed()).filter((one) => one.includes(`"${dead.id}"`))
  await group.command('ZREM', group.living(), entry!)
  await agreed(rest)
})

test('a process that leaves while it is disconnected from Redis is removed when it reconnects', async () => {
  await group.start()
  const [leaving, ...rest] = group.members as [Member, ...Member[]]
  // Heartbeats with the id of the leaving process, so that its entry does not expire.
  const heartbeat = () => group.command('ZADD', group.living(), 'XX', String(Date.now()), entryOf(leaving.id))
  const timer = setInterval(() => void heartbeat().catch(() => {}), 100)
  for (const type of ['normal', 'pubsub']) await group.command('CLIENT', 'KILL', 'TYPE', type)
  await leaving.leave()
  await agreed(rest).finally(() => clearInterval(timer))
})

test('a process that has left is removed again if another process adds it back', async () => {
  await group.start()
  const [leaving, ...rest] = group.members as [Member, ...Member[]]
  await leaving.leave()
  const after = await agreed(rest)
  const entry = entryOf(leaving.id)
  await group.command('ZADD', group.living(), String(Date.now()), entry)
  await eventually('the removal of the entry', async () => !(await group.listed()).includes(entry))
  expect(await agreed(rest)).toEqual(after)
})

const invalidPeers = `{ 7 null [] "a" {"id":1} {"id":"x","host":"h"} {"id":"x","host":[],"port":1}
  {"id":"x","host":"","port":1} {"id":"x","host":"h","port":0} {"id":"x","host":"h","port":65536}`
const invalidAssignments = [
  '',
  '{',
  '["r"]',
  '7',
  '7 ',
  '7 {}',
  '7 [1,2]',
  '7 ["unknown"]',
  '1e9 []',
  '999999999 []',
]
const tooLarge = `${'9'.repeat(40)} []`

test('ignores and removes entries in the format of another version', async () => {
  const before = await group.start()
  const now = String(Date.now())
  const entries = invalidPeers.split(/\s+/).flatMap((entry) => [now, entry])
  await group.command('ZADD', group.living(), ...entries, 'inf', 'ever', '1e300', 'late')
  await group.expectStable(before)
  await eventually(
    'the removal of the entries',
    async () => (await group.listed()).length === group.members.length,
  )
  await group.command('SET', group.living(), 'a text')
  await group.expectStable(before)
})

test('replaces an assignment in the format of another version', async () => {
  await group.start()
  for (const text of [...invalidAssignments, tooLarge, `8 ${JSON.stringify([...'rstrstrst'])}`]) {
    await group.command('SET', group.assignment(), text)
    await eventually('another assignment', async () => (await group.stored()) !== text)
    await agreed(group.members)
  }
  await group.command('LPUSH', 'list', 'one')
  await group.command('RENAME', 'list', group.assignment())
  await eventually(
    'a new assignment',
    async () => (await group.command('TYPE', group.assignment())) === 'string',
  )
  await group.expectStable(await agreed(group.members))
})

const config = { redisPrefix: 'assigning', writeShards: 2 }

async function openConnections() {
  const { url } = group.redis
  const log = openLog('silent')
  const redis = openRedis(readConfig({ REDIS_URL: url }), log)
  const subscriber = openSubscriber(url, log)
  await eventually('both connections', () => redis.status === 'ready' && subscriber.status === 'ready')
  const close = async () => [redis, subscriber].forEach(disconnect)
  return disposable({ redis, subscriber, close })
}

test('subscribes to changes on a connection that is ready already', async () => {
  await using connections = await openConnections()
  const { promise: notified, resolve } = Promise.withResolvers<void>()
  new Membership(connections.redis, connections.subscriber, config, resolve)
  await notified
})

test('of two concurrent assignments only the first is stored', async () => {
  await using connections = await openConnections()
  const open = () => new Membership(connections.redis, connections.subscriber, config, () => {})
  const [first, second] = [open(), open()]
  for (const membership of [first, second]) await membership.read(undefined)
  expect([await first.assign(['p', 'q']), await second.assign(['q', 'q'])]).toEqual([true, false])
  expect((await second.read(undefined)).assignment).toEqual(['p', 'q'])
  expect(await second.assign(['q', 'q'])).toBeTrue()
})

test('a flushed Redis moves no shard', async () => {
  const before = await group.start()
  for (const _ of upTo(4)) {
    await group.command('FLUSHALL')
    await group.expectStable(before, 2)
  }
  await group.expectStable(before)
})

test('a new process that is the first in a flushed Redis gets no shard', async () => {
  const before = await group.start()
  // A process that joined first would have stored this state.
  const script = `redis.call('flushall') redis.call('zadd', KEYS[1], ARGV[1], ARGV[2]) redis.call('set', KEYS[2], ARGV[3])`
  const left = [String(Date.now()), entryOf('new'), `1 ${JSON.stringify(upTo(5).map(() => 'new'))}`]
  await group.command('EVAL', script, '2', group.living(), group.assignment(), ...left)
  expect(await group.join('new')).toEqual(before)
  await group.expectStable(before)
})

test('processes restore the last assignment of shards if Redis lost it', async () => {
  await group.start()
  const old = await group.stored()
  const after = await group.leave('r')
  // A new assignment would give the shards of `r` to `new`.
  expect(await group.join('new')).toEqual(after)
  await group.command('SET', group.assignment(), old)
  await eventually('the newer assignment', async () => (await group.stored()) !== old)
  await group.expectStable(after)
})

test('homes do not change during and after an outage of Redis, even if Redis lost its data', async () => {
  const before = await group.start()
  for (const hasLostData of [false, true]) {
    group.redis.kill()
    await group.expectStable(before)
    await group.redis.restart()
    if (hasLostData) await group.command('FLUSHALL')
    await group.expectStable(before)
  }
})

test('a Redis frozen for longer than the time to live of members moves no shard', async () => {
  const before = await group.start()
  group.redis.freeze()
  await group.expectStable(before)
  group.redis.thaw()
  await group.expectStable(before)
})

test('crashes and joins during an outage of Redis take effect after the outage', async () => {
  const before = await group.start()
  group.redis.kill()
  const dead = group.members.shift()!
  dead.close()
  // Longer than `outageMs`, so that members that reconnect late are not removed.
  await Bun.sleep(1_500)
  const joining = group.join('late')
  await group.redis.restart()
  const after = await joining
  for (const [shard, home] of before.entries()) if (home !== dead.id) expect(after[shard]).toBe(home)
})

test('a change of the clock of Redis removes no member', async () => {
  const before = await group.start()
  for (const ms of [-3_600_000, 3_600_000]) {
    const heartbeats = await group.command('ZRANGE', group.living(), '0', '-1', 'WITHSCORES')
    const shifted = (heartbeats as [string, number][]).flatMap(([member, at]) => [String(at + ms), member])
    // One command for all members, so that no heartbeat runs between two changes.
    await group.command('ZADD', group.living(), ...shifted)
    await group.expectStable(before)
  }
})

test('removes processes without a heartbeat, but none after all heartbeats stopped, as in an outage of Redis', async () => {
  await using connections = await openConnections()
  const { redis, subscriber } = connections
  const membership = new Membership(redis, subscriber, config, () => {})
  const key = `${config.redisPrefix}:{homes-2}:living`
  const peer = (id: string) => ({ id, host: 'localhost', port: 1 })
  const livingAfter = async (ages: Record<string, number>) => {
    const [seconds] = await redis.time()
    await redis.del(key)
    for (const [id, ms] of Object.entries(ages))
      await redis.zadd(key, Number(seconds) * 1_000 - ms, JSON.stringify(peer(id)))
    return [...(await membership.read(peer('me'))).peers.keys()]
  }
  expect(await livingAfter({ dead: 9_000, alive: 0 })).toEqual(['alive', 'me'])
  expect(await livingAfter({ one: 9_000, two: 5_000 })).toEqual(['me', 'one', 'two'])
})
