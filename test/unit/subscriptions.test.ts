import { setImmediate } from 'node:timers/promises'
import { EventEmitter } from 'node:events'
import type { Redis } from 'ioredis'
import { openSubscriptions } from '../../src/subscriptions/subscriptions.ts'
import { MultiMap, Subscribers, Subscription } from '../../src/subscriptions/subscription.ts'
import { newId, nilId, openLog, rowsOf, upTo, words } from '../kit.ts'
import { Notifications, type ProjectVersion } from '../../src/subscriptions/notifications.ts'
import { openReauthorize } from '../../modules/events/event-stream.ts'
import { openLongPoll } from '../../modules/events/long-poll.ts'
import { maxGrownProjects, maxListedProjects } from '../../src/subscriptions/visible-projects.ts'
import { VisibleProjects } from '../../src/subscriptions/visible-projects.ts'

const longMs = 60_000
const [projectId, elsewhere, userId, otherId] = upTo(4).map(newId) as [string, string, string, string]

/** A subscriber at version 3 and its steps: wait, notify of a newer or changed version, wake, and the awaited result. */
const waits = rowsOf(`
  waits for a version newer than its own | wait:3 newer:2 newer:3 changed:3 newer:4 result:4
  gets the newest missed version at its next wait | newer:4 newer:5 wait:3 result:5
  ignores a version that it has read meanwhile | newer:4 wait:3 result:4 newer:6 wait:6 newer:6 newer:7 result:7
  reads its version after a lower version | wait:3 changed:2 result:
  reads its version at its next wait after a lower version | changed:1 wait:3 result: wait:1 changed:1 newer:2 result:2
  forgets earlier versions at a reset | newer:4 reset:3 wait:3 changed:3 newer:4 result:4
  gets a version again after a reset | newer:5 reset:4 newer:5 wait:4 result:5
  ends its wait when all are woken | wait:3 wakeAll: result:`)

test.each(waits)('a subscriber %s', async (_, steps) => {
  const subscribers = new Subscribers()
  const subscription = new Subscription(3)
  const leave = subscribers.add('p', subscription)
  let next: Promise<number | undefined> | undefined
  for (const step of words(steps)) {
    const [verb, text] = step.split(':') as [string, string]
    const version = Number(text)
    const current = { projectId: 'p', version }
    if (verb === 'wait') next = subscription.waitForNewer(version, longMs)
    if (verb === 'newer') subscribers.notifyNewer(current)
    if (verb === 'changed') subscribers.notifyChanged(current)
    if (verb === 'reset') subscription.resetTo(version)
    if (verb === 'wakeAll') subscribers.wakeAll()
    if (verb !== 'result') continue
    const isPending = setImmediate('pending')
    expect([step, await Promise.race([next, isPending])]).toEqual([step, text === '' ? undefined : version])
  }
  expect(subscribers.countOf('p')).toBe(1)
  leave()
  expect(subscribers.countOf('p')).toBe(0)
  subscription.end()
})

test('reads the version immediately for a new subscriber, because the version may have changed just before', async () => {
  const queries: string[][] = []
  const sql = (_: unknown, ids: string[]) => Promise.resolve((queries.push(ids), []))
  const notifications = { listen: () => {}, isSubscribed: true }
  const limits = { subscribers: 10, subscribersPerAccount: 10 }
  const subscriptions = openSubscriptions(sql as never, notifications as never, limits, openLog('silent'))
  const { signal } = new AbortController()
  for (const projectId of ['p', 'q']) {
    subscriptions.subscribe([{ projectId, version: 3 }], signal)
    for (const _ of upTo(3)) await setImmediate()
  }
  expect(queries).toEqual([['p'], ['q']])
  subscriptions.end()
})

/** No version up to `known` changes rights; the project has the version `current`, and `notified` is announced. */
test.each([
  { known: 5, current: 5, notified: 5, isRead: false },
  { known: 4, current: 5, notified: 5, isRead: true },
  { known: 5, current: 6, notified: 5, isRead: true },
  { known: 5, current: 5, notified: 6, isRead: true },
  { known: 6, current: 6, notified: 6, isRead: false },
])(
  'before it sends events up to seq 5, a stream reads the rights: %p',
  async ({ known, current, notified, isRead }) => {
    const versionOf = (version: number) => ({ version, lastEventId: `event-${version}` })
    const services = {
      authenticate: { caller: () => ({}) },
      recent: { sameRightsSince: () => versionOf(known) },
    }
    const project = { projectId, ...versionOf(current) }
    let reads = 0
    const encoded = { end: { seq: 5 }, visibleTo: async () => (reads++, versionOf(9)) }
    const reader = { project, checked: versionOf(3), position: { seq: 3 } }
    await openReauthorize(services as never)(
      {} as never,
      reader as never,
      encoded as never,
      { notified } as never,
    )
    expect(reads > 0).toBe(isRead)
  },
)

test('every process receives a notification once, also from the previous release, while it is subscribed', async () => {
  const subscribers = upTo(2).map(() =>
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
    notifications.listen((one) => void received.push({ ...one, newMembers: one.newMembers ?? [] }))
    return { notifications, received }
  })
  const { notifications } = processes[0]!
  notifications.publish([{ projectId, version: 2, newMembers: [userId] }])
  notifications.publish([{ projectId, version: 4, newMembers: [otherId] }])
  notifications.publish(
    [3, 1].map((version) => ({ projectId: version === 3 ? projectId : elsewhere, version })),
  )
  await setImmediate()
  expect(sent).toHaveLength(1)
  // The previous release sends no id of the sender.
  await publish('versions', `${projectId} 7,${elsewhere} 2 ${userId}`)
  for (const { received } of processes)
    expect(received).toEqual([
      { projectId, version: 4, newMembers: [userId, otherId] },
      { projectId: elsewhere, version: 1, newMembers: [] },
      { projectId, version: 7, newMembers: [] },
      { projectId: elsewhere, version: 2, newMembers: [userId] },
    ])
  expect(notifications.isSubscribed).toBeTrue()
  subscribers[0]!.emit('close')
  expect(notifications.isSubscribed).toBeFalse()
  subscribers[0]!.emit('ready')
  await setImmediate()
  expect(notifications.isSubscribed).toBeTrue()
})

/** Opens a long poll of a project at version 1. The long poll ends when `reload` returns a later version. */
function openAtVersion1(reload: (subscribers: Subscribers) => number) {
  const subscribers = new Subscribers()
  const subscribe = ([{ version }]: [ProjectVersion]) => {
    const subscription = new Subscription(version)
    subscribers.add(projectId, subscription)
    return subscription
  }
  const subscriptions = { acquire: () => () => {}, subscribe, hasEnded: () => false }
  const longPoll = openLongPoll({ authenticate: { caller: () => null }, subscriptions } as never)
  const reading = { request: new Request('http://localhost'), caller: {}, permit: { release() {} } }
  const answer = longPoll(reading as never, 1, {
    waitMs: longMs,
    projectsOf: (version: number) => [{ projectId, version }],
    hasEvents: (version: number) => version > 1,
    reload: async () => reload(subscribers),
  })
  return { answer, notify: (version: number) => subscribers.notifyNewer({ projectId, version }) }
}

test('a long poll checks again after a notification during its check, and after a version that a failover lost', async () => {
  let checks = 0
  const checking = openAtVersion1((subscribers) => {
    if (++checks === 1) subscribers.notifyNewer({ projectId, version: 3 })
    return checks
  })
  await setImmediate()
  checking.notify(2)
  expect(await checking.answer).toBe(2)
  let committed = 1
  const losing = openAtVersion1(() => committed)
  for (const version of [1, 2]) {
    await setImmediate()
    committed = version
    losing.notify(2)
  }
  expect(await Promise.race([losing.answer, Bun.sleep(20_000)])).toBe(2)
})

const idOf = (n: number) => `019a0000-0000-7000-8000-${String(n).padStart(12, '0')}`
const listOf = (count: number, from = 1) => upTo(count).map((n): [string, number] => [idOf(from + n - 1), 1])

function openVisible() {
  const byProject = new MultiMap<VisibleProjects>()
  const visible = new VisibleProjects({ userId: 'somebody', afterProject: nilId, projects: null }, byProject)
  return { byProject, visible, subscriber: visible.subscribe() }
}

test('a page of visible projects that has grown too much is overfull', () => {
  const { visible, subscriber } = openVisible()
  visible.replaceAll(listOf(maxListedProjects, 2 * maxGrownProjects), true)
  for (const [id] of listOf(maxGrownProjects - maxListedProjects)) visible.update(id, 1)
  expect(subscriber.isOverfull).toBeFalse()
  visible.update(idOf(maxGrownProjects), 1)
  expect(subscriber.isOverfull).toBeTrue()
})

test('a slow subscriber gets only the latest state of each project, and an ended one is not registered again', () => {
  const { byProject, visible, subscriber } = openVisible()
  for (const version of [1, 2, 3]) visible.update(idOf(1), version)
  for (const version of [5, undefined]) visible.update(idOf(2), version)
  expect(subscriber.takeChanges().versions).toEqual([
    { projectId: idOf(1), version: 3 },
    { projectId: idOf(2), version: null },
  ])
  expect(subscriber.hasChanges()).toBeFalse()
  subscriber.subscription.end()
  visible.end()
  // Now a read of the projects returns its result.
  visible.replaceAll(listOf(3), false)
  visible.update(idOf(2), 2)
  for (const n of upTo(3)) expect([...byProject.of(idOf(n))]).toEqual([])
})
