import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { defaultTiming } from '../../src/routing/placement.ts'
import { eventually, runtimeOptions, sharedRedisPrefix, tally, upTo } from '../kit.ts'
import { agreed, type Member, openMember } from './member.ts'

const open: Member[] = []

function cluster(shards = 4, timing = defaultTiming) {
  const { url, prefix } = sharedRedisPrefix()
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

const loads = (view: (string | undefined)[]) => {
  const ids = [...new Set(view)].sort()
  return tally(view.map((id) => ids.indexOf(id)))
}
const movedBetween = (before: unknown[], after: unknown[]) =>
  after.filter((home, i) => home !== before[i]).length

describe('placement.deep', () => {
  afterEach(() => open.splice(0).forEach((member) => member.close()))

  test('a new member finds no home until Redis has responded', () => {
    expect(cluster().join('a').view()).toEqual([undefined, undefined, undefined, undefined])
  })

  test('the first process is the home of all shards, and processes that join later move none', async () => {
    const { join, joinAll } = cluster()
    await joinAll('b')
    const [a, c] = [join('a'), join('c')]
    for (const member of [a, c])
      expect(await agreed([member], [{ ...a, id: 'b' }])).toEqual(['b', 'b', 'b', 'b'])
  })

  test('a process that leaves is replaced immediately, by notification', async () => {
    // The next heartbeat comes only after the end of the test.
    const { join, joinAll } = cluster(4, { ...defaultTiming, heartbeatMs: 600_000 })
    const others = await joinAll('a', 'b')
    for (const n of upTo(4)) {
      const joined = join(`member ${n}`)
      const view = await agreed([...others, joined])
      await Bun.sleep(200)
      const leaving = others[0]!.leave()
      expect(others[0]!.view()).not.toContain(others[0]!.id)
      await leaving
      await agreed([...others, joined], [others[1]!, joined])
      const lost = view.filter((home) => home === others[0]!.id).length
      expect(movedBetween(view, joined.view())).toBe(lost)
      others[0]!.close()
      others.splice(0, 2, others[1]!, joined)
    }
  })

  test('a home that crashes is replaced', async () => {
    const { joinAll } = cluster(6)
    const [a, b, c] = await joinAll('a', 'b', 'c')
    a!.close()
    const before = await agreed([b!, c!])
    expect(Object.values(loads(before))).toEqual([3, 3])
    b!.close()
    expect(await agreed([c!])).toEqual(upTo(6).map(() => 'c'))
  })

  test('some time after the last join, shards move one at a time until all processes have the same number of shards', async () => {
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

  test('all members replace an unusable process by the same processes, and use it again when it is usable', async () => {
    const { joinAll } = cluster(8)
    const [first, ...members] = await joinAll('first', 'a', 'b', 'c', 'd')
    await first!.leave()
    const before = await agreed(members)
    for (const lost of [['b'], ['b', 'c'], ['c'], ['a', 'c', 'd']]) {
      const usable = members.filter(({ id }) => !lost.includes(id))
      const views = usable.map((member) => member.view(lost))
      for (const view of views) expect(view).toEqual(views[0]!)
      expect(views[0]!.filter((home) => !usable.some(({ id }) => id === home))).toEqual([])
      for (const [shard, home] of before.entries())
        if (!lost.includes(home)) expect(views[0]![shard]).toBe(home)
    }
    expect(members[0]!.view()).toEqual(before)
  })

  test('a worker finds the homes of shards but is never a home, and finds no home if all web processes are lost', async () => {
    const { join } = cluster(2)
    const worker = join()
    const [a, b] = [join('a'), join('b')]
    const [home] = await agreed([worker, a, b], [a, b])
    const other = home === 'a' ? 'b' : 'a'
    await eventually('the other home', () => worker.view([home!]).every((id) => id === other))
    expect(worker.view(['a', 'b'])).toEqual([undefined, undefined])
    await Promise.all([a.leave(), b.leave()])
    await eventually('no home', () => worker.view().every((home) => home === undefined))
  })

  test('clusters with different Redis prefixes are separate', async () => {
    const [one, other] = [cluster(), cluster()]
    const [a, b] = [one.join('a'), other.join('b')]
    expect(await agreed([a])).toEqual(['a', 'a', 'a', 'a'])
    expect(await agreed([b])).toEqual(['b', 'b', 'b', 'b'])
    expect(a.view(['a'])).toEqual(['a', 'a', 'a', 'a'])
  })

  test('processes with equal shard counts agree on homes, and replace leaving processes with another shard count', async () => {
    const { join } = cluster(2)
    const withTwo = ['a', 'b'].map((id) => join(id))
    await agreed(withTwo)
    const withFour = ['c', 'd'].map((id) => join(id, { WRITE_SHARDS: '4' }))
    const all = [...withTwo, ...withFour]
    expect([(await agreed(withTwo, all)).length, (await agreed(withFour, all)).length]).toEqual([2, 4])
    await Promise.all(withTwo.map((member) => member.leave()))
    expect(Object.values(loads(await agreed(withFour)))).toEqual([2, 2])
    await eventually('c and d to replace a', () => withTwo[0]!.view().every((id) => id === 'c' || id === 'd'))
  })
})

let childView: (string | null)[] = []

const allShardsAt = (id: string) =>
  upTo(4)
    .map(() => id)
    .join()

describe('freezing.deep', () => {
  let [child, a, worker] = [] as unknown as [ChildProcess, Member, Member]

  beforeAll(async () => {
    const { url, prefix } = sharedRedisPrefix()
    const env: Record<string, string> = { REDIS_URL: url, REDIS_PREFIX: prefix, WRITE_SHARDS: '4' }
    const script = new URL('./member-process.ts', import.meta.url).pathname
    const args = [...runtimeOptions, script, 'child', JSON.stringify(env)]
    child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    createInterface({ input: child.stdout! }).on('line', (line) => (childView = JSON.parse(line)))
    await eventually(
      'the child to be the home of all shards',
      () => childView.join() === allShardsAt('child'),
    )
    a = openMember(env, 'a')
    worker = openMember(env)
    await eventually('a to read the assignment', () => a.view().join() === allShardsAt('child'))
  })

  afterAll(() => {
    child.kill('SIGKILL')
    a.close()
    worker.close()
  })

  afterEach(() => void child.kill('SIGCONT'))

  test('a frozen home is replaced, and reads the new homes when it resumes', async () => {
    child.kill('SIGSTOP')
    expect(await agreed([a])).toEqual(['a', 'a', 'a', 'a'])
    expect(childView.join()).toBe(allShardsAt('child'))
    child.kill('SIGCONT')
    await eventually('the child reads the new homes', () => childView.join() === allShardsAt('a'))
    expect(a.view().join()).toBe(allShardsAt('a'))
  })

  test('a resumed process is a member again, and takes over when the other process leaves', async () => {
    await eventually('its heartbeat', () => worker.view(['a']).join() === allShardsAt('child'))
    await a.leave()
    await eventually(
      'the child to be the home of all shards',
      () => childView.join() === allShardsAt('child'),
    )
  })
})

const steps = 40
let alive: Member[] = []
let sampling: ReturnType<typeof setInterval>

const sampleEveryMs = 5
/** The clock of the test advances at most this much per sample, in case the machine was busy. */
const maxPauseMs = 25

function sampleViews(endedAt: Map<string, number>, clock: { now: number }) {
  const worst = { shardsWithoutHome: 0, disagreementMs: 0, deadHomeMs: 0 }
  let agreedAt = clock.now
  let sampledAt = performance.now()
  sampling = setInterval(() => {
    const since = performance.now() - sampledAt
    sampledAt += since
    const now = (clock.now += Math.min(since, maxPauseMs))
    const views = alive.map((member) => member.view())
    worst.shardsWithoutHome += views.flat().filter((home) => home === undefined).length
    if (new Set(views.map((view) => view.join())).size <= 1) agreedAt = now
    worst.disagreementMs = Math.max(worst.disagreementMs, now - agreedAt)
    for (const home of new Set(views.flat()))
      worst.deadHomeMs = Math.max(worst.deadHomeMs, now - (endedAt.get(home!) ?? now))
  }, sampleEveryMs)
  return worst
}

describe('flapping.deep', () => {
  afterEach(() => {
    clearInterval(sampling)
    alive.splice(0).forEach((member) => member.close())
  })

  test('while processes join, leave and crash, each shard has a home, and members disagree only for seconds', async () => {
    const { url, prefix } = sharedRedisPrefix()
    const env = { REDIS_URL: url, REDIS_PREFIX: prefix, WRITE_SHARDS: '8' }
    let started = 0
    const join = async () => {
      const member = openMember(env, `process ${++started}`)
      await eventually('it has read the members', () => member.view()[0] !== undefined)
      alive.push(member)
    }
    for (const _ of upTo(4)) await join()
    await agreed(alive)
    const endedAt = new Map<string, number>()
    const clock = { now: 0 }
    const worst = sampleViews(endedAt, clock)
    for (const n of upTo(steps)) {
      // The oldest member is the home of most shards. Every second member crashes instead of leaving.
      const ending = alive.shift()!
      endedAt.set(ending.id, clock.now)
      if (n % 2 > 0) await ending.leave()
      ending.close()
      await join()
      await Bun.sleep((n * 37) % 250)
    }
    await agreed(alive)
    expect(worst.shardsWithoutHome).toBe(0)
    expect(worst.deadHomeMs).toBeLessThan(5_000)
    expect(worst.disagreementMs).toBeLessThan(5_000)
  })
})
