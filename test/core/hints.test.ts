import { expect, test } from 'bun:test'
import { EventEmitter } from 'node:events'
import type { Redis } from 'ioredis'
import { newId } from '../../src/ids.ts'
import { Notifications, type ProjectVersion } from '../../src/subscriptions/notifications.ts'

/** Opens several processes on one channel; each has a list of its received notifications. */
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
    const hints = new Notifications(redis, subscriber as unknown as Redis, 'versions')
    const heard: ProjectVersion[] = []
    hints.listen((moved) => void heard.push(moved))
    return { hints, heard }
  })
  return { subscribers, processes, sent, tellAll: (message: string) => publish('versions', message) }
}

const [projectId, elsewhere, userId] = [newId(), newId(), newId()]
const turn = () => new Promise((resolve) => setImmediate(resolve))

test('every process receives a notification once, including the sender', async () => {
  const { processes, sent } = open(2)
  processes[0]!.hints.publish([{ projectId, version: 3, newMembers: [userId] }])
  processes[0]!.hints.publish([
    { projectId, version: 4 },
    { projectId: elsewhere, version: 1 },
  ])
  await turn()
  expect(sent).toHaveLength(1)
  for (const { heard } of processes) {
    expect(heard.map(({ projectId, version }) => [projectId, version])).toEqual([
      [projectId, 4],
      [elsewhere, 1],
    ])
    expect(heard[0]!.newMembers).toEqual([userId])
  }
})

test('accepts notifications without a sender id, which the previous release sends', async () => {
  const { processes, tellAll } = open(1)
  await tellAll(`${projectId} 7,${elsewhere} 2 ${userId}`)
  expect(processes[0]!.heard).toEqual([
    { projectId, version: 7, newMembers: [] },
    { projectId: elsewhere, version: 2, newMembers: [userId] },
  ])
})

test('the process counts as unsubscribed from the loss of its connection until its next subscription', async () => {
  const { subscribers, processes } = open(1)
  const { hints } = processes[0]!
  await turn()
  expect(hints.isSubscribed).toBeTrue()
  subscribers[0]!.emit('close')
  expect(hints.isSubscribed).toBeFalse()
  subscribers[0]!.emit('ready')
  await turn()
  expect(hints.isSubscribed).toBeTrue()
})
