import { afterEach, expect, test } from 'bun:test'
import { eventually, upTo } from '../races/pair.ts'
import { sharedRedisPrefix } from '../support/redis.ts'
import { agreed, type Member, openMember } from './member.ts'

const steps = 40
let alive: Member[] = []
let watching: ReturnType<typeof setInterval>
afterEach(() => {
  clearInterval(watching)
  alive.splice(0).forEach((member) => member.close())
})

const lookEveryMs = 5
/** A look that comes later than this came to a machine that had no time for anybody. */
const mostBetweenMs = 25

/**
 * Looks at what all who live believe, again and again: what was wrong about it, and for how long at most of the time that
 * this process had.
 */
function watch(goneAt: Map<string, number>, clock: { now: number }) {
  const worst = { unanswered: 0, dividedMs: 0, goneMs: 0 }
  let agreedAt = clock.now
  let lookedAt = performance.now()
  watching = setInterval(() => {
    const since = performance.now() - lookedAt
    lookedAt += since
    const now = (clock.now += Math.min(since, mostBetweenMs))
    const views = alive.map((member) => member.view())
    worst.unanswered += views.flat().filter((home) => home === undefined).length
    if (new Set(views.map((view) => view.join())).size <= 1) agreedAt = now
    worst.dividedMs = Math.max(worst.dividedMs, now - agreedAt)
    for (const home of new Set(views.flat()))
      worst.goneMs = Math.max(worst.goneMs, now - (goneAt.get(home!) ?? now))
  }, lookEveryMs)
  return worst
}

test('where processes come, leave and die all the time no shard is lost, nor has two homes for long', async () => {
  const { url, prefix } = sharedRedisPrefix()
  const env = { REDIS_URL: url, REDIS_PREFIX: prefix, WRITE_SHARDS: '8' }
  let born = 0
  const join = async () => {
    const member = openMember(env, `process ${++born}`)
    await eventually('it knows somebody', () => member.view()[0] !== undefined)
    alive.push(member)
  }
  for (const _ of upTo(4)) await join()
  await agreed(alive)
  const goneAt = new Map<string, number>()
  const clock = { now: 0 }
  const worst = watch(goneAt, clock)
  for (const n of upTo(steps)) {
    // Every other one dies without a word. Who has been there longest is home of most.
    const leaver = alive.shift()!
    goneAt.set(leaver.id, clock.now)
    if (n % 2 > 0) await leaver.leave()
    leaver.close()
    await join()
    await Bun.sleep((n * 37) % 250)
  }
  await agreed(alive)
  expect(worst.unanswered).toBe(0)
  expect(worst.goneMs).toBeLessThan(5_000)
  expect(worst.dividedMs).toBeLessThan(5_000)
})
