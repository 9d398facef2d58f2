import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { EventEmitter } from 'node:events'
import { openSubscriptions } from '../../src/subscriptions/subscriptions.ts'
import { MultiMap, Subscribers, Subscription } from '../../src/subscriptions/subscription.ts'
import { newId, nilId, openLog } from '../kit.ts'
import { Notifications, type ProjectVersion } from '../../src/subscriptions/notifications.ts'
import { openLongPoll } from '../../modules/events/long-poll.ts'
import { VisibleProjects } from '../../src/subscriptions/visible-projects.ts'

const longMs = 60_000

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

test('accepts notifications without a sender id, which the previous release sends', () => {
  const subscriber = Object.assign(new EventEmitter(), { status: 'ready', subscribe: async () => 1 })
  const received: ProjectVersion[] = []
  const [projectId, elsewhere, userId] = [newId(), newId(), newId()]
  new Notifications(subscriber as never, subscriber as never, 'versions').listen(
    (moved) => void received.push(moved),
  )
  subscriber.emit('message', 'versions', `${projectId} 7,${elsewhere} 2 ${userId}`)
  expect(received).toEqual([
    { projectId, version: 7, newMembers: [] },
    { projectId: elsewhere, version: 2, newMembers: [userId] },
  ])
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
