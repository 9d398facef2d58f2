import { expect, test } from 'bun:test'
import { setImmediate } from 'node:timers/promises'
import { openSubscriptions } from '../../src/subscriptions/subscriptions.ts'
import { Subscription, Subscribers } from '../../src/subscriptions/subscription.ts'
import { openLog } from '../../src/log.ts'
import { openReauthorize } from '../../modules/events/event-stream.ts'

const longMs = 60_000

/** Opens a subscription at a version, and returns functions that notify the subscriber. */
function follow(version: number) {
  const waiting = new Subscribers()
  const following = new Subscription(version)
  const leave = waiting.add('p', following)
  const hear = (version: number) => waiting.notifyNewer({ projectId: 'p', version })
  const see = (version: number) => waiting.notifyChanged({ projectId: 'p', version })
  return { waiting, following, hear, see, leave }
}

test('a waiting subscriber is notified only of versions newer than its own', async () => {
  const { following, hear, see } = follow(3)
  const news = following.waitForNewer(3, longMs)
  for (const version of [2, 3]) hear(version)
  see(3)
  hear(4)
  expect(await news).toBe(4)
  following.end()
})

test('a busy subscriber gets the newest missed version once, at its next wait', async () => {
  const { following, hear } = follow(3)
  for (const version of [4, 5]) hear(version)
  expect(await following.waitForNewer(3, longMs)).toBe(5)
  hear(6)
  // Meanwhile the subscriber has read version 6.
  const news = following.waitForNewer(6, longMs)
  hear(6)
  hear(7)
  expect(await news).toBe(7)
  following.end()
})

test('a version lower than the known version wakes a waiting subscriber, and a busy subscriber at its next wait', async () => {
  const { following, see, hear } = follow(3)
  const news = following.waitForNewer(3, longMs)
  see(2)
  expect(await news).toBeUndefined()
  see(1)
  expect(await following.waitForNewer(3, longMs)).toBeUndefined()
  // Now the subscriber has version 1.
  const later = following.waitForNewer(1, longMs)
  see(1)
  hear(2)
  expect(await later).toBe(2)
  following.end()
})

test('after a reset, forgets the versions that were lost, but not later notifications', async () => {
  const { following, hear, see } = follow(3)
  hear(4)
  following.resetTo(3)
  const news = following.waitForNewer(3, longMs)
  see(3)
  hear(4)
  expect(await news).toBe(4)
  hear(5)
  following.resetTo(4)
  hear(5)
  expect(await following.waitForNewer(4, longMs)).toBe(5)
  following.end()
})

test('a wait ends without a version when its time is up', async () => {
  const { following, hear } = follow(0)
  const began = performance.now()
  for (let version = 1; version <= 3; version++) {
    const news = following.waitForNewer(version - 1, 40)
    hear(version)
    expect(await news).toBe(version)
  }
  await Bun.sleep(20)
  expect(await following.waitForNewer(3, 40)).toBeUndefined()
  expect(performance.now() - began).toBeGreaterThan(55)
  following.end()
})

test('wakeAll ends every wait, and a subscriber that has left is not notified', async () => {
  const { waiting, following, leave } = follow(3)
  const news = following.waitForNewer(3, longMs)
  waiting.wakeAll()
  expect(await news).toBeUndefined()
  expect(waiting.countOf('p')).toBe(1)
  leave()
  expect(waiting.countOf('p')).toBe(0)
  const last = following.waitForNewer(3, longMs)
  following.end()
  expect(await last).toBeUndefined()
})

test('reads the version immediately for a new subscriber, because the version may have changed just before', async () => {
  const asked: string[][] = []
  const sql = (_: unknown, ids: string[]) => Promise.resolve((asked.push(ids), []))
  const hints = { listen: () => {}, isSubscribed: true }
  const seats = { subscribers: 10, subscribersPerAccount: 10 }
  const subscriptions = openSubscriptions(sql as never, hints as never, seats, openLog('silent'))
  const over = new AbortController()
  const news = subscriptions.subscribe([{ projectId: 'p', version: 3 }], over.signal).waitForNewer(3, longMs)
  for (let turn = 0; turn < 3; turn++) await setImmediate()
  expect(asked).toEqual([['p']])
  subscriptions.subscribe([{ projectId: 'q', version: 3 }], over.signal)
  for (let turn = 0; turn < 3; turn++) await setImmediate()
  expect(asked).toEqual([['p'], ['q']])
  over.abort()
  subscriptions.end()
  expect(await news).toBeUndefined()
})

const versionOf = (version: number) => ({ version, lastEventId: `event-${version}` })

/** Returns true if rights are read again before events up to seq 5 are sent. No version up to `known` changes rights. */
async function isAsked({ known = 5, seen = 5, heard = 5 }): Promise<boolean> {
  const caller = { userId: 'somebody' }
  const recent = { sameRightsSince: () => versionOf(known) }
  const checkReader = openReauthorize({ authenticate: { caller: () => caller }, recent } as never)
  let asked = false
  const frames = { end: { seq: 5 }, visibleTo: async () => ((asked = true), versionOf(9)) }
  const at = { project: { projectId: 'p', ...versionOf(seen) }, checked: versionOf(3), position: { seq: 3 } }
  await checkReader({ request: null } as never, at as never, frames as never, { notified: heard } as never)
  return asked
}

test('reads the rights again before sending events, unless no known change affects rights', async () => {
  expect(await isAsked({})).toBeFalse()
  expect(await isAsked({ known: 4 })).toBeTrue()
  expect(await isAsked({ seen: 6 })).toBeTrue()
  expect(await isAsked({ heard: 6 })).toBeTrue()
  expect(await isAsked({ known: 6, seen: 6, heard: 6 })).toBeFalse()
})
