import { eventually, sharedRedisPrefix, upTo } from '../kit.ts'
import { agreed, type Member, openMember } from './member.ts'

const steps = 40
let alive: Member[] = []
let sampling: ReturnType<typeof setInterval>
afterEach(() => {
  clearInterval(sampling)
  alive.splice(0).forEach((member) => member.close())
})

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
