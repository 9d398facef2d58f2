import { afterEach, expect, test } from 'bun:test'
import { defaultTiming } from '../../src/routing/placement.ts'
import { until } from '../../src/local/wait.ts'
import { eventually, tally, upTo } from '../races/pair.ts'
import { sharedRedisPrefix } from '../support/redis.ts'
import { agreed, type Member, openMember } from './member.ts'

const open: Member[] = []
afterEach(() => open.splice(0).forEach((member) => member.close()))

function cluster(shards = 4, timing = defaultTiming) {
  const { url, prefix } = sharedRedisPrefix()
  const env = { REDIS_URL: url, REDIS_PREFIX: prefix, WRITE_SHARDS: String(shards) }
  const join = (id?: string, more: Record<string, string> = {}) => {
    const member = openMember({ ...env, ...more }, id, timing)
    open.push(member)
    return member
  }
  /** Lets them in one after another: the first of them is home of all. */
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

const loads = (view: (string | undefined)[]) => {
  const ids = [...new Set(view)].sort()
  return tally(view.map((id) => ids.indexOf(id)))
}
const movedBetween = (before: unknown[], after: unknown[]) =>
  after.filter((home, i) => home !== before[i]).length

test('before anything was heard nobody is known', () => {
  expect(cluster().join('a').view()).toEqual([undefined, undefined, undefined, undefined])
})

test('who is alone is home of all, and who comes later shuffles nothing', async () => {
  const { join, joinAll } = cluster()
  await joinAll('b')
  const [a, c] = [join('a'), join('c')]
  for (const member of [a, c])
    expect(await agreed([member], [{ ...a, id: 'b' }])).toEqual(['b', 'b', 'b', 'b'])
})

test('who leaves is replaced at once, at all others and at its own', async () => {
  // Nobody would find it out before the test is over: all are told.
  const { join, joinAll } = cluster(4, { ...defaultTiming, heartbeatMs: 600_000 })
  const others = await joinAll('a', 'b')
  for (const n of upTo(4)) {
    const leaver = join(`leaver ${n}`)
    const view = await agreed([...others, leaver])
    await Bun.sleep(200) // what was told of who came is done with
    const leaving = others[0]!.leave()
    expect(others[0]!.view()).not.toContain(others[0]!.id) // before Redis has said anything
    await leaving
    await agreed([...others, leaver], [others[1]!, leaver])
    const lost = view.filter((home) => home === others[0]!.id).length
    expect(movedBetween(view, leaver.view())).toBe(lost)
    others[0]!.close()
    others.splice(0, 2, others[1]!, leaver)
  }
})

test('a home that dies is replaced, and nothing else moves', async () => {
  const { joinAll } = cluster(6)
  const [a, b, c] = await joinAll('a', 'b', 'c')
  a!.close()
  const before = await agreed([b!, c!])
  expect(Object.values(loads(before))).toEqual([3, 3])
  b!.close()
  expect(await agreed([c!])).toEqual(upTo(6).map(() => 'c'))
})

test('shards go to who has fewer after a calm, one at a time, until they are even', async () => {
  const timing = { ...defaultTiming, stableMs: 3_000, balanceEveryMs: 500 }
  const { joinAll } = cluster(6, timing)
  const began = performance.now()
  const [a, b] = await joinAll('a', 'b')
  const views = [a!.view()]
  await eventually('an even spread', () => {
    const view = a!.view()
    if (movedBetween(views.at(-1)!, view) > 0) {
      if (views.length === 1) expect(performance.now() - began).toBeGreaterThan(timing.stableMs)
      expect(movedBetween(views.at(-1)!, view)).toBe(1)
      views.push(view)
    }
    return Object.values(loads(view)).join() === '3,3'
  })
  expect(views).toHaveLength(4)
  expect(await agreed([a!, b!])).toEqual(views.at(-1) as string[])
})

test('who cannot be used is passed over alike by all, and has its shards again when it can', async () => {
  const { joinAll } = cluster(8)
  const [first, ...members] = await joinAll('first', 'a', 'b', 'c', 'd')
  await first!.leave()
  const before = await agreed(members)
  for (const lost of [['b'], ['b', 'c'], ['c'], ['a', 'c', 'd']]) {
    const sane = members.filter(({ id }) => !lost.includes(id))
    const views = sane.map((member) => member.view(lost))
    for (const view of views) expect(view).toEqual(views[0]!)
    expect(views[0]!.filter((home) => !sane.some(({ id }) => id === home))).toEqual([])
    for (const [shard, home] of before.entries())
      if (!lost.includes(home)) expect(views[0]![shard]).toBe(home)
  }
  expect(members[0]!.view()).toEqual(before)
})

test('a worker knows the homes and is none, and with all of them lost it knows nobody', async () => {
  const { join } = cluster(2)
  const worker = join()
  const [a, b] = [join('a'), join('b')]
  const [home] = await agreed([worker, a, b], [a, b])
  const other = home === 'a' ? 'b' : 'a'
  await eventually('the other', () => worker.view([home!]).every((id) => id === other))
  expect(worker.view(['a', 'b'])).toEqual([undefined, undefined])
  await Promise.all([a.leave(), b.leave()])
  await eventually('nobody', () => worker.view().every((home) => home === undefined))
})

test('clusters under different prefixes do not meet', async () => {
  const [one, other] = [cluster(), cluster()]
  const [a, b] = [one.join('a'), other.join('b')]
  expect(await agreed([a])).toEqual(['a', 'a', 'a', 'a'])
  expect(await agreed([b])).toEqual(['b', 'b', 'b', 'b'])
  expect(a.view(['a'])).toEqual(['a', 'a', 'a', 'a'])
})

test('processes that count shards differently agree with their own kind, and take over from each other', async () => {
  const { join } = cluster(2)
  const old = ['a', 'b'].map((id) => join(id))
  await agreed(old)
  const young = ['c', 'd'].map((id) => join(id, { WRITE_SHARDS: '4' }))
  const [ofTwo, ofFour] = [await agreed(old, [...old, ...young]), await agreed(young, [...old, ...young])]
  expect([ofTwo.length, ofFour.length]).toEqual([2, 4])
  await Promise.all(old.map((member) => member.leave()))
  expect(Object.values(loads(await agreed(young)))).toEqual([2, 2])
  expect(
    await until(() => (old[0]!.view().every((id) => id === 'c' || id === 'd') ? true : undefined), 30_000),
  ).toBe(true)
})
