import { defaultTiming } from '../../src/routing/placement.ts'
import { disposable, eventually, freshRedis, sharedRedisPrefix, tally, upTo } from '../kit.ts'
import { agreed, type Member, openMember } from './member.ts'

const open: Member[] = []
afterEach(() => open.splice(0).forEach((member) => member.close()))

function cluster(shards = 4, timing = defaultTiming, { url, prefix } = sharedRedisPrefix()) {
  const env = { REDIS_URL: url, REDIS_PREFIX: prefix, WRITE_SHARDS: String(shards) }
  const join = (id?: string, more: Record<string, string> = {}) => {
    const member = openMember({ ...env, ...more }, id, timing)
    open.push(member)
    return member
  }
  /** Starts members one after another: the first becomes the home of all shards. */
  const joinAll = async (...ids: string[]) => {
    const members: Member[] = []
    for (const id of ids) {
      members.push(join(id))
      await agreed(members)
    }
    return members
  }
  return { join, joinAll }
}

/** The numbers of shards of the homes. */
const loads = (view: (string | undefined)[]) => {
  const ids = [...new Set(view)].sort()
  return Object.values(tally(view.map((id) => ids.indexOf(id))))
}
const movedBetween = (before: unknown[], after: unknown[]) =>
  after.filter((home, i) => home !== before[i]).length
const all = (id: string | undefined, shards = 4) => upTo(shards).map(() => id) as string[]

test('the first process is the home of all shards in its cluster, and processes that join later move none', async () => {
  const { join, joinAll } = cluster()
  // Until Redis has responded, a member finds no home.
  expect(cluster().join('early').view()).toEqual(all(undefined))
  await joinAll('b')
  const other = cluster().join('other')
  const [a, c] = [join('a'), join('c')]
  for (const member of [a, c]) expect(await agreed([member], [{ ...a, id: 'b' }])).toEqual(all('b'))
  expect(await agreed([other])).toEqual(all('other'))
  expect(other.view(['other'])).toEqual(all('other'))
})

test('a process that leaves is replaced, and the shards of the other processes stay', async () => {
  const { join, joinAll } = cluster()
  let [leaving, staying] = (await joinAll('a', 'b')) as [Member, Member]
  for (const n of upTo(4)) {
    const joined = join(`member ${n}`)
    const view = await agreed([leaving, staying, joined])
    const left = leaving.leave()
    expect(leaving.view()).not.toContain(leaving.id)
    await left
    await agreed([leaving, staying, joined], [staying, joined])
    expect(movedBetween(view, joined.view())).toBe(view.filter((home) => home === leaving.id).length)
    leaving.close()
    ;[leaving, staying] = [staying, joined]
  }
})

test('some time after the last join, shards move one at a time until all processes have the same number of shards', async () => {
  const timing = { ...defaultTiming, stableMs: 1_500, balanceEveryMs: 400 }
  const began = performance.now()
  const [a, b] = await cluster(7, timing).joinAll('a', 'b')
  const views = [a!.view()]
  await eventually('an even spread', () => {
    const view = a!.view()
    const moved = movedBetween(views.at(-1)!, view)
    if (moved > 0) {
      if (views.length === 1) expect(performance.now() - began).toBeGreaterThan(timing.stableMs)
      expect(moved).toBe(1)
      views.push(view)
    }
    return loads(view).sort().join() === '3,4'
  })
  expect(views).toHaveLength(4)
  await Bun.sleep(2 * timing.balanceEveryMs)
  expect(await agreed([a!, b!])).toEqual(views.at(-1) as string[])
})

test('all members replace an unusable process by the same processes, and use it again when it is usable', async () => {
  const [first, ...members] = await cluster(8).joinAll('first', 'a', 'b', 'c', 'd')
  await first!.leave()
  const before = await agreed(members)
  for (const lost of [['b'], ['b', 'c'], ['c'], ['a', 'c', 'd']]) {
    const usable = members.filter(({ id }) => !lost.includes(id))
    const [view, ...others] = usable.map((member) => member.view(lost)) as [string[], ...string[][]]
    for (const other of others) expect(other).toEqual(view)
    expect(view.filter((home) => !usable.some(({ id }) => id === home))).toEqual([])
    expect(before.filter((home, shard) => !lost.includes(home) && view[shard] !== home)).toEqual([])
  }
  expect(members[0]!.view()).toEqual(before)
})

test('a worker finds the homes of shards but is never a home, and finds no home if all web processes are lost', async () => {
  const { join } = cluster(2)
  const [worker, a, b] = [join(), join('a'), join('b')]
  const [home] = await agreed([worker, a, b], [a, b])
  const other = home === 'a' ? 'b' : 'a'
  await eventually('the other home', () => worker.view([home!]).every((id) => id === other))
  expect(worker.view(['a', 'b'])).toEqual([undefined, undefined])
  await Promise.all([a.leave(), b.leave()])
  await eventually('no home', () => worker.view().every((home) => home === undefined))
})

test('processes with equal shard counts agree on homes, and replace leaving processes with another shard count', async () => {
  const { join } = cluster(2)
  const withTwo = ['a', 'b'].map((id) => join(id))
  await agreed(withTwo)
  const withFour = ['c', 'd'].map((id) => join(id, { WRITE_SHARDS: '4' }))
  const both = [...withTwo, ...withFour]
  expect([(await agreed(withTwo, both)).length, (await agreed(withFour, both)).length]).toEqual([2, 4])
  await Promise.all(withTwo.map((member) => member.leave()))
  expect(loads(await agreed(withFour))).toEqual([2, 2])
  await eventually('c and d to replace a', () => withTwo[0]!.view().every((id) => id === 'c' || id === 'd'))
})

test('while processes join, leave and crash, each shard has a home, and the members agree in the end', async () => {
  const { join } = cluster(8)
  const alive: Member[] = []
  let withoutHome = 0
  const sampling = setInterval(() => {
    withoutHome += alive.flatMap((member) => member.view()).filter((home) => home === undefined).length
  }, 5)
  for (const n of upTo(24)) {
    const member = join(`process ${n}`)
    await eventually('the new process to read the members', () => member.view()[0] !== undefined)
    alive.push(member)
    if (n === 4) await agreed(alive)
    if (n <= 4) continue
    // The oldest member is the home of most shards. Every second member crashes instead of leaving.
    const ending = alive.shift()!
    if (n % 2 > 0) await ending.leave()
    ending.close()
    await Bun.sleep((n * 37) % 250)
  }
  await agreed(alive)
  clearInterval(sampling)
  expect(withoutHome).toBe(0)
})

test('without Redis the known homes stay in use, and a dead process is replaced when Redis is back', async () => {
  const redis = await freshRedis()
  await using _ = disposable({ close: () => redis.stop() })
  const members = await cluster(4, defaultTiming, { url: redis.url, prefix: 'docket' }).joinAll('a', 'b', 'c')
  await members.shift()!.leave()
  const before = await agreed(members)
  /** Longer than the time to live of a member. */
  const expectStable = async (ms = 2_500) => {
    const end = performance.now() + ms
    while (performance.now() < end) {
      for (const member of members) expect(member.view()).toEqual(before)
      await Bun.sleep(20)
    }
  }
  redis.freeze()
  await expectStable()
  redis.thaw()
  await expectStable()
  redis.kill()
  await expectStable()
  await redis.restart()
  await expectStable()
  const [dead, alive] = members as [Member, Member]
  dead.close()
  await agreed([alive])
  redis.kill()
  await redis.restart()
  const client = new Bun.RedisClient(redis.url)
  await client.send('FLUSHALL', [])
  client.close()
  await agreed([alive])
})
