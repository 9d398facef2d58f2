import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { EventEmitter } from 'node:events'
import type { Redis } from 'ioredis'
import { openSubscriptions } from '../../src/subscriptions/subscriptions.ts'
import { MultiMap, Subscribers, Subscription } from '../../src/subscriptions/subscription.ts'
import { newId, nilId, openLog } from '../kit.ts'
import { openReauthorize } from '../../modules/events/event-stream.ts'
import { Notifications, type ProjectVersion } from '../../src/subscriptions/notifications.ts'
import { openLongPoll } from '../../modules/events/long-poll.ts'
import { maxGrownProjects, maxListedProjects } from '../../src/subscriptions/visible-projects.ts'
import { VisibleProjects } from '../../src/subscriptions/visible-projects.ts'

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

function openProcesses(count: number) {
  const subscribers = Array.from({ length: count }, () =>
    Object.assign(new EventEmitter(), { status: 'ready', subscribe: async () => 1 }),
  )
  const sent: string[] = []
  const publish = async (channel: string, message: string) => {
    sent.push(message)
    for (const one of subscribers) one.emit('message', channel, message)
  }
  const redis = { status: 'ready', publish } as unknown as Redis
  const processes = subscribers.map((subscriber) => {
    const notifications = new Notifications(redis, subscriber as unknown as Redis, 'versions')
    const received: ProjectVersion[] = []
    notifications.listen((moved) => void received.push(moved))
    return { notifications, received }
  })
  return { subscribers, processes, sent, publishText: (message: string) => publish('versions', message) }
}

const [projectId, elsewhere, userId] = [newId(), newId(), newId()]
const nextIteration = () => setImmediate()

test('every process receives a notification once, including the sender', async () => {
  const { processes, sent } = openProcesses(2)
  processes[0]!.notifications.publish([{ projectId, version: 3, newMembers: [userId] }])
  processes[0]!.notifications.publish([
    { projectId, version: 4 },
    { projectId: elsewhere, version: 1 },
  ])
  await nextIteration()
  expect(sent).toHaveLength(1)
  for (const { received } of processes) {
    expect(received.map(({ projectId, version }) => [projectId, version])).toEqual([
      [projectId, 4],
      [elsewhere, 1],
    ])
    expect(received[0]!.newMembers).toEqual([userId])
  }
})

test('accepts notifications without a sender id, which the previous release sends', async () => {
  const { processes, publishText } = openProcesses(1)
  await publishText(`${projectId} 7,${elsewhere} 2 ${userId}`)
  expect(processes[0]!.received).toEqual([
    { projectId, version: 7, newMembers: [] },
    { projectId: elsewhere, version: 2, newMembers: [userId] },
  ])
})

test('the process counts as unsubscribed from the loss of its connection until its next subscription', async () => {
  const { subscribers, processes } = openProcesses(1)
  const { notifications } = processes[0]!
  await nextIteration()
  expect(notifications.isSubscribed).toBeTrue()
  subscribers[0]!.emit('close')
  expect(notifications.isSubscribed).toBeFalse()
  subscribers[0]!.emit('ready')
  await nextIteration()
  expect(notifications.isSubscribed).toBeTrue()
})

const polled = newId()

/** Opens a long poll of a project at version 1. The long poll ends when `reload` returns a later version. */
function openAtVersion1(reload: (subscribers: Subscribers) => number) {
  const subscribers = new Subscribers()
  const subscribe = ([{ projectId, version }]: [ProjectVersion]) => {
    const subscription = new Subscription(version)
    subscribers.add(projectId, subscription)
    return subscription
  }
  const subscriptions = { acquire: () => () => {}, subscribe, hasEnded: () => false }
  const longPoll = openLongPoll({ authenticate: { caller: () => null }, subscriptions } as never)
  const reading = { request: new Request('http://localhost'), caller: {}, permit: { release() {} } }
  const wait = {
    waitMs: 60_000,
    projectsOf: (version: number) => [{ projectId: polled, version }],
    hasEvents: (version: number) => version > 1,
    reload: async () => reload(subscribers),
  }
  const notify = (version: number) => subscribers.notifyNewer({ projectId: polled, version })
  return { answer: longPoll(reading as never, 1, wait), notify }
}

test('a long poll checks again if a notification of a commit arrives during its check', async () => {
  let checks = 0
  const { answer, notify } = openAtVersion1((subscribers) => {
    if (++checks === 1) subscribers.notifyNewer({ projectId: polled, version: 3 })
    return checks
  })
  await setImmediate()
  notify(2)
  expect(await answer).toBe(2)
})

test('a long poll returns when a version that was lost in a failover is committed again', async () => {
  let committed = 1
  const { answer, notify } = openAtVersion1(() => committed)
  await setImmediate()
  // Version 2 is lost in a failover.
  notify(2)
  await setImmediate()
  committed = 2
  notify(2)
  const late = sleep(20_000, 'too late', { ref: false })
  expect(await Promise.race([answer, late])).toBe(2)
})

const idOf = (n: number) => `019a0000-0000-7000-8000-${String(n).padStart(12, '0')}`
const listOf = (count: number, from = 1) =>
  Array.from({ length: count }, (_, i): [string, number] => [idOf(from + i), 1])

const ofUser = (userId: string) => ({ userId, afterProject: nilId, projects: null })

function openVisible(scope = {}) {
  const byProject = new MultiMap<VisibleProjects>()
  const visible = new VisibleProjects({ ...ofUser('somebody'), ...scope }, byProject)
  return { byProject, visible, subscriber: visible.subscribe() }
}

test('a page that has grown too much is overfull', () => {
  const { visible, subscriber } = openVisible()
  visible.replaceAll(listOf(maxListedProjects, 2 * maxGrownProjects), true)
  for (const [id] of listOf(maxGrownProjects - maxListedProjects)) visible.update(id, 1)
  expect(subscriber.isOverfull).toBeFalse()
  visible.update(idOf(maxGrownProjects), 1)
  expect(subscriber.isOverfull).toBeTrue()
})

test('a subscriber that ends during a read of its projects is not registered again', () => {
  const { byProject, visible, subscriber } = openVisible()
  visible.replaceAll(listOf(2), false)
  subscriber.subscription.end()
  visible.end()
  // Now the read returns its result.
  const read: [string, number][] = [
    [idOf(1), 2],
    [idOf(3), 1],
  ]
  visible.replaceAll(read, false)
  visible.update(idOf(2), 2)
  for (const n of [1, 2, 3]) expect([...byProject.of(idOf(n))]).toEqual([])
})

test('a slow subscriber gets only the latest state of each project', () => {
  const { visible, subscriber } = openVisible()
  for (const version of [1, 2, 3]) visible.update(idOf(1), version)
  visible.update(idOf(2), 5)
  visible.update(idOf(2), undefined)
  expect(subscriber.takeChanges().versions).toEqual([
    { projectId: idOf(1), version: 3 },
    { projectId: idOf(2), version: null },
  ])
})
