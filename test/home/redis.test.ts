import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { eventually, upTo } from '../races/pair.ts'
import { type FreshRedis, freshRedis } from '../support/redis.ts'
import { place } from '../../src/home/placement.ts'
import { agreed, type Member, openMember } from './member.ts'

let redis: FreshRedis
let members: Member[] = []
let runs = 0
let env: Record<string, string>
beforeAll(async () => {
  redis = await freshRedis()
})
afterEach(() => members.splice(0).forEach((member) => member.die()))
afterAll(() => redis.stop())

/** Three with five shards between them, where they would not be if they had come today. */
async function settled(): Promise<string[]> {
  env = { REDIS_URL: redis.url, REDIS_PREFIX: `run${++runs}`, WRITE_HOMES: '5' }
  for (const id of ['p', 'q', 'r', 's']) await join(id)
  await leave('p')
  await join('t')
  const view = await leave('q')
  expect(view).not.toEqual(place(5, ['r', 's', 't'], [], false))
  return view
}

async function join(id: string): Promise<void> {
  members.push(openMember(env, id))
  await agreed(members)
}

async function leave(id: string): Promise<string[]> {
  const leaver = members.find((one) => one.id === id)!
  await leaver.leave()
  leaver.die()
  members = members.filter((one) => one !== leaver)
  return agreed(members)
}

/** Where all but one other are lost, that one has its part. */
const knowsAll = (one: Member) =>
  members.every(({ id }) => {
    const lost = members.filter((other) => other.id !== id).map((other) => other.id)
    return one.view(lost).includes(id)
  })

/** So many beats pass, and nobody sees a shard move. */
async function unmoved(before: string[], beats = 6): Promise<void> {
  const began = performance.now()
  await eventually('some beats', () => {
    for (const member of members) expect(member.view()).toEqual(before)
    return performance.now() - began > beats * 500
  })
  expect(members.filter((one) => !knowsAll(one))).toEqual([])
}

async function command(...words: string[]): Promise<unknown> {
  const client = new Bun.RedisClient(redis.url)
  const answer = await client.send(words[0]!, words.slice(1))
  client.close()
  return answer
}
const peer = (id: string) => JSON.stringify({ id, host: '127.0.0.1', port: 1 })
const living = () => `run${runs}:{homes}:living`
const assignment = () => `run${runs}:{homes}:of-5`

test('Redis emptied again and again leaves every home where it is', async () => {
  const before = await settled()
  for (const _ of upTo(4)) {
    await command('FLUSHALL')
    await unmoved(before, 2)
  }
  await unmoved(before)
})

test('who is new and the first to beat in an empty Redis keeps nothing', async () => {
  const before = await settled()
  // What it would leave there.
  const script = `redis.call('flushall') redis.call('zadd', KEYS[1], ARGV[1], ARGV[2]) redis.call('set', KEYS[2], ARGV[3])`
  const left = [String(Date.now()), peer('new'), `1 ${JSON.stringify(upTo(5).map(() => 'new'))}`]
  await command('EVAL', script, '2', living(), assignment(), ...left)
  members.push(openMember(env, 'new'))
  expect(await agreed(members)).toEqual(before)
  await unmoved(before)
})

test('a Redis that lost its last writes is told them again', async () => {
  await settled()
  const old = (await command('GET', assignment())) as string
  const after = await leave('r')
  await command('SET', assignment(), old)
  await eventually('the newer one', async () => (await command('GET', assignment())) !== old)
  await unmoved(after)
})

test('while Redis is away the homes known are used on, and stay when it comes back, kept or empty', async () => {
  const before = await settled()
  for (const isEmptied of [false, true]) {
    redis.kill()
    await unmoved(before)
    await redis.restart()
    if (isEmptied) await command('FLUSHALL')
    await unmoved(before)
  }
})

test('Redis frozen for longer than a process may be silent costs nobody a shard', async () => {
  const before = await settled()
  redis.freeze()
  await unmoved(before)
  process.kill(redis.pid, 'SIGCONT')
  await unmoved(before)
})

test('who dies or comes while Redis is away is replaced or let in when it is back', async () => {
  const before = await settled()
  const [dead, ...rest] = members as [Member, ...Member[]]
  redis.kill()
  dead.die()
  const late = openMember(env, 'late')
  members = [...rest, late]
  await redis.restart()
  const after = await agreed(members)
  for (const [shard, home] of before.entries()) if (home !== dead.id) expect(after[shard]).toBe(home)
})

test('a Redis whose clock was set, forward or back, makes nobody silent', async () => {
  const before = await settled()
  for (const ms of [-3_600_000, 3_600_000]) {
    const times = (await command('ZRANGE', living(), '0', '-1', 'WITHSCORES')) as [string, number][]
    // All at once, as it is with a clock: nobody beats in between.
    await command('ZADD', living(), ...times.flatMap(([member, score]) => [String(score + ms), member]))
    await unmoved(before)
  }
})

test('what nobody was told of is seen at the next beat', async () => {
  await settled()
  const [dead, ...rest] = members as [Member, ...Member[]]
  dead.die()
  const [entry] = ((await command('ZRANGE', living(), '0', '-1')) as string[]).filter((one) =>
    one.includes(`"${dead.id}"`),
  )
  await command('ZREM', living(), entry!)
  await agreed(rest)
})

test('who leaves while its line is cut has left when it is drawn again, not when it was silent too long', async () => {
  await settled()
  const [leaver, ...rest] = members as [Member, ...Member[]]
  const began = performance.now()
  for (const type of ['normal', 'pubsub']) await command('CLIENT', 'KILL', 'TYPE', type)
  await leaver.leave()
  await agreed(rest)
  expect(performance.now() - began).toBeLessThan(1_500)
})

test('who has left is not brought back by others who remember it', async () => {
  await settled()
  const [leaver, ...rest] = members as [Member, ...Member[]]
  await leaver.leave()
  const after = await agreed(rest)
  const entry = peer(leaver.id)
  await command('ZADD', living(), String(Date.now()), entry)
  await eventually(
    'it is taken out',
    async () => !((await command('ZRANGE', living(), '0', '-1')) as string[]).includes(entry),
  )
  expect(await agreed(rest)).toEqual(after)
})

test('what another version or a stranger wrote does no harm, and is gone soon', async () => {
  const before = await settled()
  const peers = [
    '{',
    '7',
    'null',
    '[]',
    '{"id":1}',
    '{"id":"x","host":"h"}',
    '"a"',
    '{"id":"x","host":[],"port":1}',
  ]
  const now = Date.now()
  await command(
    'ZADD',
    living(),
    ...peers.flatMap((peer) => [String(now), peer]),
    'inf',
    'ever',
    '1e300',
    'late',
  )
  await unmoved(before)
  expect(await command('ZCARD', living())).toBe(members.length)
  await command('SET', living(), 'a text')
  await unmoved(before)
  for (const text of [
    '',
    '{',
    '"a"',
    '[1,2]',
    '[null]',
    '{"0":"a"}',
    '["nobody"]',
    `["a","b","c","d","a","b","c"]`,
  ]) {
    await command('SET', assignment(), text)
    await eventually('sense', async () => (await command('GET', assignment())) !== text)
    await agreed(members)
  }
  await command('LPUSH', 'list', 'one')
  await command('RENAME', 'list', assignment())
  await agreed(members)
  await eventually('a text', async () => (await command('TYPE', assignment())) === 'string')
})
