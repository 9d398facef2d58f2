import { setImmediate } from 'node:timers/promises'
import { openSubscriptions } from '../../src/subscriptions/subscriptions.ts'
import { Subscription, Subscribers } from '../../src/subscriptions/subscription.ts'
import { openLog } from '../kit.ts'
import { openReauthorize } from '../../modules/events/event-stream.ts'

const longMs = 60_000

function openSubscription(version: number) {
  const subscribers = new Subscribers()
  const subscription = new Subscription(version)
  const leave = subscribers.add('p', subscription)
  const notifyNewer = (version: number) => subscribers.notifyNewer({ projectId: 'p', version })
  const notifyChanged = (version: number) => subscribers.notifyChanged({ projectId: 'p', version })
  return { subscribers, subscription, notifyNewer, notifyChanged, leave }
}

test('a waiting subscriber is notified only of versions newer than its own', async () => {
  const { subscription, notifyNewer, notifyChanged } = openSubscription(3)
  const next = subscription.waitForNewer(3, longMs)
  for (const version of [2, 3]) notifyNewer(version)
  notifyChanged(3)
  notifyNewer(4)
  expect(await next).toBe(4)
  subscription.end()
})

test('a busy subscriber gets the newest missed version once, at its next wait', async () => {
  const { subscription, notifyNewer } = openSubscription(3)
  for (const version of [4, 5]) notifyNewer(version)
  expect(await subscription.waitForNewer(3, longMs)).toBe(5)
  notifyNewer(6)
  // Meanwhile the subscriber has read version 6.
  const next = subscription.waitForNewer(6, longMs)
  notifyNewer(6)
  notifyNewer(7)
  expect(await next).toBe(7)
  subscription.end()
})

test('a notification of a lower version wakes a waiting subscriber, and ends the next wait of a busy subscriber', async () => {
  const { subscription, notifyChanged, notifyNewer } = openSubscription(3)
  const next = subscription.waitForNewer(3, longMs)
  notifyChanged(2)
  expect(await next).toBeUndefined()
  notifyChanged(1)
  expect(await subscription.waitForNewer(3, longMs)).toBeUndefined()
  // Now the subscriber has version 1.
  const later = subscription.waitForNewer(1, longMs)
  notifyChanged(1)
  notifyNewer(2)
  expect(await later).toBe(2)
  subscription.end()
})

test('a reset discards earlier notifications; later notifications wake the subscriber', async () => {
  const { subscription, notifyNewer, notifyChanged } = openSubscription(3)
  notifyNewer(4)
  subscription.resetTo(3)
  const next = subscription.waitForNewer(3, longMs)
  notifyChanged(3)
  notifyNewer(4)
  expect(await next).toBe(4)
  notifyNewer(5)
  subscription.resetTo(4)
  notifyNewer(5)
  expect(await subscription.waitForNewer(4, longMs)).toBe(5)
  subscription.end()
})

test('a wait ends without a version when its time is up', async () => {
  const { subscription, notifyNewer } = openSubscription(0)
  const began = performance.now()
  for (let version = 1; version <= 3; version++) {
    const next = subscription.waitForNewer(version - 1, 40)
    notifyNewer(version)
    expect(await next).toBe(version)
  }
  await Bun.sleep(20)
  expect(await subscription.waitForNewer(3, 40)).toBeUndefined()
  expect(performance.now() - began).toBeGreaterThan(55)
  subscription.end()
})

test('wakeAll ends every wait, and a subscriber that has left is not notified', async () => {
  const { subscribers, subscription, leave } = openSubscription(3)
  const next = subscription.waitForNewer(3, longMs)
  subscribers.wakeAll()
  expect(await next).toBeUndefined()
  expect(subscribers.countOf('p')).toBe(1)
  leave()
  expect(subscribers.countOf('p')).toBe(0)
  const last = subscription.waitForNewer(3, longMs)
  subscription.end()
  expect(await last).toBeUndefined()
})

test('reads the version immediately for a new subscriber, because the version may have changed just before', async () => {
  const queries: string[][] = []
  const sql = (_: unknown, ids: string[]) => Promise.resolve((queries.push(ids), []))
  const notifications = { listen: () => {}, isSubscribed: true }
  const limits = { subscribers: 10, subscribersPerAccount: 10 }
  const subscriptions = openSubscriptions(sql as never, notifications as never, limits, openLog('silent'))
  const controller = new AbortController()
  const next = subscriptions
    .subscribe([{ projectId: 'p', version: 3 }], controller.signal)
    .waitForNewer(3, longMs)
  for (let turn = 0; turn < 3; turn++) await setImmediate()
  expect(queries).toEqual([['p']])
  subscriptions.subscribe([{ projectId: 'q', version: 3 }], controller.signal)
  for (let turn = 0; turn < 3; turn++) await setImmediate()
  expect(queries).toEqual([['p'], ['q']])
  controller.abort()
  subscriptions.end()
  expect(await next).toBeUndefined()
})

const versionOf = (version: number) => ({ version, lastEventId: `event-${version}` })

/** Returns true if rights are read again before events up to seq 5 are sent. No version up to `known` changes rights. */
async function isReauthorized({ known = 5, current = 5, notified = 5 }): Promise<boolean> {
  const caller = { userId: 'somebody' }
  const recent = { sameRightsSince: () => versionOf(known) }
  const checkReader = openReauthorize({ authenticate: { caller: () => caller }, recent } as never)
  let queries = false
  const frames = { end: { seq: 5 }, visibleTo: async () => ((queries = true), versionOf(9)) }
  const at = {
    project: { projectId: 'p', ...versionOf(current) },
    checked: versionOf(3),
    position: { seq: 3 },
  }
  await checkReader({ request: null } as never, at as never, frames as never, { notified } as never)
  return queries
}

test('reads the rights again before sending events, unless no known change affects rights', async () => {
  expect(await isReauthorized({})).toBeFalse()
  expect(await isReauthorized({ known: 4 })).toBeTrue()
  expect(await isReauthorized({ current: 6 })).toBeTrue()
  expect(await isReauthorized({ notified: 6 })).toBeTrue()
  expect(await isReauthorized({ known: 6, current: 6, notified: 6 })).toBeFalse()
})
