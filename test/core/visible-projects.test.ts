import { Redis } from 'ioredis'
import {
  maxGrownProjects,
  maxListedProjects,
  VisibleProjects,
} from '../../src/subscriptions/visible-projects.ts'
import { MultiMap } from '../../src/subscriptions/subscription.ts'
import { VisibleProjectsByUser } from '../../src/subscriptions/visible-projects-by-user.ts'
import { nilId } from '../../src/id-format.ts'
import { eventually, forFile, invite, make, openTestService, register } from '../kit.ts'

const service = await forFile(openTestService())

const idOf = (n: number) => `019a0000-0000-7000-8000-${String(n).padStart(12, '0')}`
const listOf = (count: number, from = 1) =>
  Array.from({ length: count }, (_, i): [string, number] => [idOf(from + i), 1])

const lastId = idOf(maxListedProjects)
const more = { told: maxListedProjects, last: lastId }
const ofUser = (userId: string) => ({ userId, afterProject: nilId, projects: null })

function openVisible(scope = {}) {
  const byProject = new MultiMap<VisibleProjects>()
  const visible = new VisibleProjects({ ...ofUser('somebody'), ...scope }, byProject)
  return { byProject, visible, subscriber: visible.subscribe() }
}

test('a full page ends at its last project, and gets the projects within its range, but no later project', () => {
  const { byProject, visible, subscriber } = openVisible()
  const all = listOf(maxListedProjects, 1).filter(([id]) => id !== idOf(7))
  visible.replaceAll([...all, [idOf(maxListedProjects + 1), 1]], true)
  const taken = subscriber.takeChanges()
  const last = idOf(maxListedProjects + 1)
  expect([taken.versions.length, taken.more]).toEqual([maxListedProjects, { told: maxListedProjects, last }])
  visible.update(idOf(maxListedProjects + 2), 1)
  expect(subscriber.hasChanges()).toBeFalse()
  visible.update(idOf(7), 1)
  expect(subscriber.takeChanges()).toEqual({
    versions: [{ projectId: idOf(7), version: 1 }],
    more: undefined,
  })
  visible.update(idOf(8), undefined)
  expect(subscriber.takeChanges().versions).toEqual([{ projectId: idOf(8), version: null }])
  visible.end()
  for (const [id] of listOf(maxListedProjects + 2)) expect([...byProject.of(id)]).toEqual([])
})

test('a page that becomes full reports once that more projects follow, also to a later subscriber', () => {
  const { visible, subscriber } = openVisible()
  visible.replaceAll(listOf(maxListedProjects), false)
  expect([subscriber.takeChanges().versions.length, subscriber.hasChanges()]).toEqual([
    maxListedProjects,
    false,
  ])
  visible.update(idOf(maxListedProjects + 1), 1)
  expect(subscriber.takeChanges()).toEqual({ versions: [], more })
  visible.update(idOf(maxListedProjects + 2), 1)
  expect(subscriber.hasChanges()).toBeFalse()
  expect(visible.subscribe().takeChanges().more).toEqual(more)
})

test('a page leaves out the projects that its end excludes, without a message that they are not visible', () => {
  const { byProject, visible, subscriber } = openVisible()
  visible.replaceAll(listOf(maxListedProjects, 2), false)
  visible.update(idOf(1), 1)
  expect(subscriber.takeChanges().versions).toHaveLength(maxListedProjects + 1)
  visible.replaceAll(listOf(maxListedProjects), true)
  expect(subscriber.takeChanges()).toEqual({ versions: [], more })
  expect([...byProject.of(idOf(maxListedProjects + 1))]).toEqual([])
})

test('a page that has grown too much is overfull', () => {
  const { visible, subscriber } = openVisible()
  visible.replaceAll(listOf(maxListedProjects, 2 * maxGrownProjects), true)
  for (const [id] of listOf(maxGrownProjects - maxListedProjects)) visible.update(id, 1)
  expect(subscriber.isOverfull).toBeFalse()
  visible.update(idOf(maxGrownProjects), 1)
  expect(subscriber.isOverfull).toBeTrue()
})

test('ignores projects before the page and projects of other tokens', () => {
  const { visible, subscriber } = openVisible({
    afterProject: idOf(3),
    projects: [idOf(2), idOf(4), idOf(6)],
  })
  for (const [id] of listOf(7)) visible.update(id, 1)
  expect(subscriber.takeChanges().versions.map(({ projectId }) => projectId)).toEqual([idOf(4), idOf(6)])
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

test('a notification makes a project visible to its new member without a read of all projects', async () => {
  const [ada, grace] = [await register(service.client, 'Ada'), await register(service.client, 'Grace')]
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  const visibleByUser = new VisibleProjectsByUser(service.services.database.reads)
  const over = new AbortController()
  const subscriber = await visibleByUser.subscribe(ofUser(grace.id), over.signal)
  await invite(ada, projectId, grace)
  visibleByUser.onNotification({ projectId, version: 2, newMembers: [grace.id] })
  await eventually('the project', () => subscriber.hasChanges())
  expect(subscriber.takeChanges().versions).toEqual([{ projectId, version: 2 }])
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
