import { EventEmitter } from 'node:events'
import type { Redis } from 'ioredis'
import { newId } from '../kit.ts'
import { Notifications, type ProjectVersion } from '../../src/subscriptions/notifications.ts'

function open(count: number) {
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
const nextIteration = () => new Promise((resolve) => setImmediate(resolve))

test('every process receives a notification once, including the sender', async () => {
  const { processes, sent } = open(2)
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
  const { processes, publishText } = open(1)
  await publishText(`${projectId} 7,${elsewhere} 2 ${userId}`)
  expect(processes[0]!.received).toEqual([
    { projectId, version: 7, newMembers: [] },
    { projectId: elsewhere, version: 2, newMembers: [userId] },
  ])
})

test('the process counts as unsubscribed from the loss of its connection until its next subscription', async () => {
  const { subscribers, processes } = open(1)
  const { notifications } = processes[0]!
  await nextIteration()
  expect(notifications.isSubscribed).toBeTrue()
  subscribers[0]!.emit('close')
  expect(notifications.isSubscribed).toBeFalse()
  subscribers[0]!.emit('ready')
  await nextIteration()
  expect(notifications.isSubscribed).toBeTrue()
})
