import { Membership, assignShards } from '../../src/routing/placement.ts'
import { disconnect, disposable, eventually, freshRedis, openLog, openRedis, openSubscriber } from '../kit.ts'
import { type FreshRedis, readConfig, upTo } from '../kit.ts'
import { agreed, type Member, openMember } from './member.ts'

const shards = '5'
let redis: FreshRedis
let members: Member[] = []
let runs = 0

// Members have their own Redis server, which a test may stop, flush or corrupt.
beforeAll(async () => void (redis = await freshRedis()))
afterEach(() => members.splice(0).forEach((member) => member.close()))
afterAll(() => redis.stop())

async function command(...words: string[]): Promise<unknown> {
  const client = new Bun.RedisClient(redis.url)
  const reply = await client.send(words[0]!, words.slice(1))
  client.close()
  return reply
}
const living = () => `run${runs}:{homes-2}:living`
const assignment = () => `run${runs}:{homes-2}:of-${shards}`
const stored = async () => String(await command('GET', assignment()))
const listed = async () => (await command('ZRANGE', living(), '0', '-1')) as string[]
const heartbeats = async () =>
  (await command('ZRANGE', living(), '0', '-1', 'WITHSCORES')) as [string, number][]
const entryOf = (id: string) => JSON.stringify({ id, host: '127.0.0.1', port: 1 })

async function join(id: string): Promise<string[]> {
  members.push(openMember({ REDIS_URL: redis.url, REDIS_PREFIX: `run${runs}`, WRITE_SHARDS: shards }, id))
  return agreed(members)
}

async function leave(id: string): Promise<string[]> {
  const leaving = members.find((member) => member.id === id)!
  await leaving.leave()
  leaving.close()
  members = members.filter((member) => member !== leaving)
  return agreed(members)
}

/** Starts three members with five shards. A new assignment would place the shards differently. */
async function start(): Promise<string[]> {
  runs++
  for (const id of ['p', 'q', 'r', 's']) await join(id)
  await leave('p')
  await join('t')
  const view = await leave('q')
  expect(view).not.toEqual(assignShards(Number(shards), ['r', 's', 't'], [], false))
  // The view alone does not show whether a member has read the stored assignment.
  await eventually('the assignment to be stored', async () =>
    (await stored()).endsWith(` ${JSON.stringify(view)}`),
  )
  const [seconds, micros] = (await command('TIME')) as string[]
  const now = Number(seconds) * 1_000 + Number(micros) / 1_000
  await eventually('all members to read the assignment', async () =>
    (await heartbeats()).every(([, at]) => at > now),
  )
  return view
}

/** For some heartbeats, no shard moves; and each member becomes a home when all other members are lost. */
async function expectStable(before: string[], what = '', ms = 1_200): Promise<void> {
  const began = performance.now()
  await eventually('some heartbeats', () => {
    for (const member of members) expect([what, member.view()]).toEqual([what, before])
    return performance.now() - began > ms
  })
  const ids = members.map(({ id }) => id)
  const listsAll = (member: Member) =>
    ids.every((id) => member.view(ids.filter((other) => other !== id)).includes(id))
  expect([what, members.filter((member) => !listsAll(member))]).toEqual([what, []])
}

test('a change without notification is noticed at the next heartbeat', async () => {
  await start()
  const [dead, ...rest] = members as [Member, ...Member[]]
  dead.close()
  const [entry] = (await listed()).filter((one) => one.includes(`"${dead.id}"`))
  await command('ZREM', living(), entry!)
  await agreed(rest)
})

test('a process that has left is removed again, also if it was disconnected, or another process adds it back', async () => {
  await start()
  const [leaving, ...rest] = members as [Member, ...Member[]]
  // Heartbeats with the id of the leaving process, so that its entry does not expire.
  const heartbeat = () => command('ZADD', living(), 'XX', String(Date.now()), entryOf(leaving.id))
  const timer = setInterval(() => void heartbeat().catch(() => {}), 100)
  for (const type of ['normal', 'pubsub']) await command('CLIENT', 'KILL', 'TYPE', type)
  await leaving.leave()
  const after = await agreed(rest).finally(() => clearInterval(timer))
  const entry = entryOf(leaving.id)
  await command('ZADD', living(), String(Date.now()), entry)
  await eventually('the removal of the entry', async () => !(await listed()).includes(entry))
  expect(await agreed(rest)).toEqual(after)
})

/** Longer than the time to live of a member. */
const outageMs = 2_500

async function outage(before: string[], hasLostData: boolean): Promise<void> {
  redis.kill()
  await expectStable(before, 'without Redis', outageMs)
  await redis.restart()
  if (hasLostData) await command('FLUSHALL')
}

async function freeze(before: string[]): Promise<void> {
  redis.freeze()
  await expectStable(before, 'with a frozen Redis', outageMs)
  redis.thaw()
}

/** One command for all members, so that no heartbeat runs between two changes. */
async function shiftHeartbeats(ms: number): Promise<void> {
  const shifted = (await heartbeats()).flatMap(([member, at]) => [String(at + ms), member])
  await command('ZADD', living(), ...shifted)
}

const invalidEntries = `{ 7 null [] "a" {"id":1} {"id":"x","host":"h"} {"id":"x","host":[],"port":1}
  {"id":"x","host":"","port":1} {"id":"x","host":"h","port":0} {"id":"x","host":"h","port":65536}`

const changes: [what: string, (before: string[]) => Promise<unknown>][] = [
  ['an outage of Redis', (before) => outage(before, false)],
  ['an outage in which Redis lost its data', (before) => outage(before, true)],
  ['a freeze of Redis', freeze],
  ['a change of the clock of Redis', () => shiftHeartbeats(-3_600_000)],
  ['a change of the clock of Redis, forward', () => shiftHeartbeats(3_600_000)],
  ...upTo(3).map((n): [string, () => Promise<unknown>] => [`flush ${n}`, () => command('FLUSHALL')]),
  [
    'entries in the format of another version',
    () => {
      const entries = invalidEntries.split(/\s+/).flatMap((entry) => [String(Date.now()), entry])
      return command('ZADD', living(), ...entries, 'inf', 'ever', '1e300', 'late')
    },
  ],
  ['a list in the format of another version', () => command('SET', living(), 'a text')],
]

test('outages, changed clocks, flushes and unknown entries move no shard and remove no member', async () => {
  const before = await start()
  for (const [what, change] of changes) {
    await change(before)
    await expectStable(before, what)
    await eventually('the list of the members', async () => (await listed()).length === members.length)
  }
})

test('replaces an assignment in the format of another version', async () => {
  await start()
  const invalid = ['', '{', '["r"]', '7', '7 ', '7 {}', '7 [1,2]', '7 ["unknown"]', '1e9 []', '999999999 []']
  for (const text of [...invalid, `${'9'.repeat(40)} []`, `8 ${JSON.stringify([...'rstrstrst'])}`]) {
    await command('SET', assignment(), text)
    await eventually('another assignment', async () => (await stored()) !== text)
    await agreed(members)
  }
  await command('LPUSH', 'list', 'one')
  await command('RENAME', 'list', assignment())
  await eventually('a new assignment', async () => (await command('TYPE', assignment())) === 'string')
  await expectStable(await agreed(members))
})

const config = { redisPrefix: 'assigning', writeShards: 2 }

async function openConnections() {
  const log = openLog('silent')
  const [commands, subscriber] = [
    openRedis(readConfig({ REDIS_URL: redis.url }), log),
    openSubscriber(redis.url, log),
  ]
  await eventually('both connections', () => commands.status === 'ready' && subscriber.status === 'ready')
  const close = async () => [commands, subscriber].forEach(disconnect)
  const open = (onChange = () => {}) => new Membership(commands, subscriber, config, onChange)
  return disposable({ commands, open, close })
}

test('subscribes on connections that are ready already, and of two concurrent assignments stores only the first', async () => {
  await using connections = await openConnections()
  const { promise: notified, resolve } = Promise.withResolvers<void>()
  const [first, second] = [connections.open(resolve), connections.open()]
  await notified
  for (const membership of [first, second]) await membership.read(undefined)
  expect([await first.assign(['p', 'q']), await second.assign(['q', 'q'])]).toEqual([true, false])
  expect((await second.read(undefined)).assignment).toEqual(['p', 'q'])
  expect(await second.assign(['q', 'q'])).toBeTrue()
})

test('a new process that is the first in a flushed Redis gets no shard', async () => {
  const before = await start()
  // A process that joined first would have stored this state.
  const script = `redis.call('flushall') redis.call('zadd', KEYS[1], ARGV[1], ARGV[2]) redis.call('set', KEYS[2], ARGV[3])`
  const left = [String(Date.now()), entryOf('new'), `1 ${JSON.stringify(upTo(5).map(() => 'new'))}`]
  await command('EVAL', script, '2', living(), assignment(), ...left)
  expect(await join('new')).toEqual(before)
  await expectStable(before)
})

test('processes restore the last assignment of shards if Redis lost it', async () => {
  await start()
  const old = await stored()
  const after = await leave('r')
  // A new assignment would give the shards of `r` to `new`.
  expect(await join('new')).toEqual(after)
  await command('SET', assignment(), old)
  await eventually('the newer assignment', async () => (await stored()) !== old)
  await expectStable(after)
})

test('crashes and joins during an outage of Redis take effect after the outage', async () => {
  const before = await start()
  redis.kill()
  const dead = members.shift()!
  dead.close()
  // Longer than `outageMs`, so that members that reconnect late are not removed.
  await Bun.sleep(1_500)
  const joining = join('late')
  await redis.restart()
  const after = await joining
  for (const [shard, home] of before.entries()) if (home !== dead.id) expect(after[shard]).toBe(home)
})

test('removes processes without a heartbeat, but none after all heartbeats stopped, as in an outage of Redis', async () => {
  await using connections = await openConnections()
  const { commands, open } = connections
  const membership = open()
  const key = `${config.redisPrefix}:{homes-2}:living`
  const peer = (id: string) => ({ id, host: 'localhost', port: 1 })
  const livingAfter = async (ages: Record<string, number>) => {
    const [seconds] = await commands.time()
    await commands.del(key)
    for (const [id, ms] of Object.entries(ages))
      await commands.zadd(key, Number(seconds) * 1_000 - ms, JSON.stringify(peer(id)))
    return [...(await membership.read(peer('me'))).peers.keys()]
  }
  expect(await livingAfter({ dead: 9_000, alive: 0 })).toEqual(['alive', 'me'])
  expect(await livingAfter({ one: 9_000, two: 5_000 })).toEqual(['me', 'one', 'two'])
})
