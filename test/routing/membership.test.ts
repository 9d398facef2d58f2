import { Membership } from '../../src/routing/membership.ts'
import { disposable, eventually, openLog, readConfig } from '../kit.ts'
import { disconnect, openRedis, openSubscriber } from '../../src/redis/connections.ts'
import { MemberGroup, entryOf } from './member-group.ts'
import { agreed, type Member } from './member.ts'

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
