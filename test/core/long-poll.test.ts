import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { openLongPoll } from '../../modules/events/long-poll.ts'
import { newId } from '../kit.ts'
import { Subscription, Subscribers } from '../../src/subscriptions/subscription.ts'
import type { ProjectVersion } from '../../src/subscriptions/notifications.ts'

const projectId = newId()

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
    projectsOf: (version: number) => [{ projectId, version }],
    hasEvents: (version: number) => version > 1,
    reload: async () => reload(subscribers),
  }
  const notify = (version: number) => subscribers.notifyNewer({ projectId, version })
  return { answer: longPoll(reading as never, 1, wait), notify }
}

test('a long poll checks again if a notification of a commit arrives during its check', async () => {
  let checks = 0
  const { answer, notify } = openAtVersion1((subscribers) => {
    if (++checks === 1) subscribers.notifyNewer({ projectId, version: 3 })
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
