import { setImmediate } from 'node:timers/promises'
import { EventEmitter } from 'node:events'
import type { Redis } from 'ioredis'
import { openSubscriptions } from '../../src/subscriptions/subscriptions.ts'
import { Subscribers, Subscription } from '../../src/subscriptions/subscription.ts'
import { newId, openLog, readYaml, upTo, words } from '../kit.ts'
import { Notifications, type ProjectVersion } from '../../src/subscriptions/notifications.ts'
import { openLongPoll } from '../../modules/events/long-poll.ts'

const longMs = 60_000
const [projectId, elsewhere, userId, otherId] = upTo(4).map(newId) as [string, string, string, string]

const { waits } = readYaml<{ waits: [what: string, steps: string][] }>('test/unit/queues.yaml')

test.each(waits)('a subscriber at version 3 %s', async (_, steps) => {
  const [subscribers, subscription] = [new Subscribers(), new Subscription(3)]
  subscribers.add(projectId, subscription)
  let next: Promise<unknown> | undefined
  for (const step of words(steps)) {
    const [verb, text] = step.split(':') as [string, string]
    const version = Number(text)
    if (verb === 'wait') next = subscription.waitForNewer(version, longMs)
    if (verb === 'newer') subscribers.notifyNewer({ projectId, version })
    if (verb === 'changed') subscribers.notifyChanged({ projectId, version })
    if (verb === 'reset') subscription.resetTo(version)
    if (verb === 'wakeAll') subscribers.wakeAll()
    if (verb === 'result')
      expect([step, await Promise.race([next, setImmediate('pending')])]).toEqual([
        step,
        version || undefined,
      ])
  }
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

test('every process receives a notification once, while it is subscribed', async () => {
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
  for (const one of [
    { projectId, version: 3 },
    { projectId: elsewhere, version: 1 },
  ])
    notifications.publish([one])
  await setImmediate()
  expect(sent).toHaveLength(1)
  for (const { received } of processes)
    expect(received).toEqual([
      { projectId, version: 4, newMembers: [userId, otherId] },
      { projectId: elsewhere, version: 1, newMembers: [] },
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
