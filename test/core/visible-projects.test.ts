import { Redis } from 'ioredis'
import { expect, test } from 'bun:test'
import { moreKey, maxListedProjects, VisibleProjects } from '../../src/subscriptions/visible-projects.ts'
import { MultiMap } from '../../src/subscriptions/subscription.ts'
import { VisibleProjectsByUser } from '../../src/subscriptions/visible-projects-by-user.ts'
import { eventually } from '../races/pair.ts'
import { invite, make, register } from '../support/client.ts'
import { forFile, openTestService } from '../support/service.ts'

const service = await forFile(openTestService())

const idOf = (n: number) => `019a0000-0000-7000-8000-${String(n).padStart(12, '0')}`
const listOf = (count: number, from = 1) =>
  Array.from({ length: count }, (_, i): [string, number] => [idOf(from + i), 1])

const more = { projectId: moreKey, version: 1 }

function openVisible() {
  const byProject = new MultiMap<VisibleProjects>()
  const visible = new VisibleProjects('somebody', byProject)
  return { byProject, visible, subscriber: visible.subscribe() }
}

test('limits the number of visible projects, and adds another project when a visible project disappears', () => {
  const { byProject, visible, subscriber } = openVisible()
  visible.replaceAll(listOf(maxListedProjects, 2))
  expect(subscriber.takeChanges()).toHaveLength(maxListedProjects)
  for (const n of [1, maxListedProjects + 2]) visible.update(idOf(n), 1)
  expect(subscriber.takeChanges()).toEqual([more])
  // The list no longer contains the last project, although it still exists.
  visible.replaceAll([...listOf(maxListedProjects, 1), [moreKey, 1]])
  expect(subscriber.takeChanges()).toEqual([])
  visible.update(idOf(7), undefined)
  expect(subscriber.takeChanges()).toEqual([{ projectId: idOf(7), version: null }])
  visible.replaceAll(listOf(maxListedProjects + 1, 1).filter(([id]) => id !== idOf(7)))
  expect(subscriber.takeChanges()).toEqual([
    { ...more, version: null },
    { projectId: idOf(1), version: 1 },
  ])
  visible.end()
  for (const [id] of listOf(maxListedProjects + 2)) expect([...byProject.of(id)]).toEqual([])
})

test('reports once that the user has more projects than the limit, and once that the user no longer has more', () => {
  const { visible, subscriber } = openVisible()
  const all = listOf(maxListedProjects)
  const andMore: typeof all = [...all, [moreKey, 1]]
  visible.replaceAll(all)
  expect([subscriber.takeChanges().length, subscriber.hasChanges()]).toEqual([maxListedProjects, false])
  visible.update(idOf(maxListedProjects + 1), 1)
  visible.replaceAll(andMore)
  expect([subscriber.takeChanges(), subscriber.hasChanges()]).toEqual([[more], false])
  expect(visible.subscribe().takeChanges()).toContainEqual(more)
  visible.replaceAll(listOf(maxListedProjects - 1))
  visible.update(idOf(maxListedProjects), 1)
  expect(subscriber.takeChanges()).toEqual([
    { projectId: idOf(maxListedProjects), version: 1 },
    { ...more, version: null },
  ])
  expect(visible.subscribe().takeChanges()).not.toContainEqual(more)
  visible.replaceAll(andMore)
  expect(subscriber.takeChanges()).toEqual([more])
})

test("if a project disappears, the user's next project takes its place", () => {
  const { visible, subscriber } = openVisible()
  visible.replaceAll([...listOf(maxListedProjects), [moreKey, 1]])
  subscriber.takeChanges()
  visible.update(idOf(7), undefined)
  const first = listOf(maxListedProjects + 1).filter(([id]) => id !== idOf(7))
  visible.replaceAll([...first, [moreKey, 1]])
  expect(subscriber.takeChanges()).toEqual([
    { projectId: idOf(7), version: null },
    { projectId: idOf(maxListedProjects + 1), version: 1 },
  ])
  expect(visible.asText).toBe([...first.map((one) => one.join(' ')), `${moreKey} 1`].join())
})

test('a subscriber that ends during a read of its projects is not registered again', () => {
  const { byProject, visible, subscriber } = openVisible()
  visible.replaceAll(listOf(2))
  subscriber.subscription.end()
  visible.end()
  // Now the read returns its result.
  visible.replaceAll([
    [idOf(1), 2],
    [idOf(3), 1],
  ])
  visible.update(idOf(2), 2)
  for (const n of [1, 2, 3]) expect([...byProject.of(idOf(n))]).toEqual([])
})

test('a slow subscriber gets only the latest state of each project', () => {
  const { visible, subscriber } = openVisible()
  for (const version of [1, 2, 3]) visible.update(idOf(1), version)
  visible.update(idOf(2), 5)
  visible.update(idOf(2), undefined)
  expect(subscriber.takeChanges()).toEqual([
    { projectId: idOf(1), version: 3 },
    { projectId: idOf(2), version: null },
  ])
})

test('a notification makes a project visible to its new member without a read of all projects', async () => {
  const [ada, grace] = [await register(service.client, 'Ada'), await register(service.client, 'Grace')]
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  const visibleByUser = new VisibleProjectsByUser(service.services.database.reads)
  const over = new AbortController()
  const subscriber = await visibleByUser.subscribe(grace.id, over.signal)
  await invite(ada, projectId, grace)
  visibleByUser.onNotification({ projectId, version: 2, newMembers: [grace.id] })
  await eventually('the project', () => subscriber.hasChanges())
  expect(subscriber.takeChanges()).toEqual([{ projectId, version: 2 }])
  over.abort()
})

test('a notification contains the users who joined the project, and no others', async () => {
  const { REDIS_URL = '', REDIS_PREFIX = '' } = service.env
  const redis = new Redis(REDIS_URL)
  const messages: string[] = []
  let arrived = () => {}
  redis.on('message', (_, message: string) => {
    messages.push(message)
    arrived()
  })
  await redis.subscribe(`${REDIS_PREFIX}:versions`)
  const next = async () => {
    while (messages.length === 0) await new Promise<void>((resolve) => (arrived = resolve))
    const [, notification] = messages.shift()!.split(',')
    return notification
  }
  const [ada, grace] = [await register(service.client, 'Ada'), await register(service.client, 'Grace')]
  const { id } = await make(ada, '/projects', { name: 'Engine' })
  expect(await next()).toBe(`${id} 1 ${ada.id}`)
  const member = await invite(ada, id, grace)
  expect(await next()).toBe(`${id} 2 ${grace.id}`)
  await ada.patch(`/projects/${id}/members/${member.id}/role`, { role: 'EDITOR' })
  expect(await next()).toBe(`${id} 3`)
  await ada.delete(`/projects/${id}/members/${member.id}`)
  expect(await next()).toBe(`${id} 4`)
  redis.disconnect()
})
