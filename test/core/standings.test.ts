import { Redis } from 'ioredis'
import { expect, test } from 'bun:test'
import { moreMark, mostTold, Standing } from '../../src/subscriptions/standing.ts'
import { Groups } from '../../src/subscriptions/following.ts'
import { Standings } from '../../src/subscriptions/standings.ts'
import { eventually } from '../races/pair.ts'
import { invite, make, register } from '../support/client.ts'
import { forFile, openTestService } from '../support/service.ts'

const service = await forFile(openTestService())

const idOf = (n: number) => `019a0000-0000-7000-8000-${String(n).padStart(12, '0')}`
const listOf = (count: number, from = 1) =>
  Array.from({ length: count }, (_, i): [string, number] => [idOf(from + i), 1])

const more = { projectId: moreMark, version: 1 }

test('limits the visible projects in the feed, and adds another one when one disappears', () => {
  const seenBy = new Groups<Standing>()
  const standing = new Standing('somebody', seenBy)
  const listener = standing.join()
  standing.seeAll(listOf(mostTold, 2))
  expect(listener.take()).toHaveLength(mostTold)
  // Two new projects, with a lower and a higher id.
  for (const n of [1, mostTold + 2]) standing.see(idOf(n), 1)
  expect(listener.take()).toEqual([more])
  // The first page of projects lacks the last listed project, which still exists.
  standing.seeAll([...listOf(mostTold, 1), [moreMark, 1]])
  expect(listener.take()).toEqual([])
  standing.see(idOf(7), undefined)
  expect(listener.take()).toEqual([{ projectId: idOf(7), version: null }])
  standing.seeAll(listOf(mostTold + 1, 1).filter(([id]) => id !== idOf(7)))
  expect(listener.take()).toEqual([
    { ...more, version: null },
    { projectId: idOf(1), version: 1 },
  ])
  standing.end()
  for (const [id] of listOf(mostTold + 2)) expect([...seenBy.of(id)]).toEqual([])
})

test('reports once that there are more projects than the limit, and once when this ends', () => {
  const standing = new Standing('somebody', new Groups<Standing>())
  const listener = standing.join()
  const all = listOf(mostTold)
  const andMore: typeof all = [...all, [moreMark, 1]]
  standing.seeAll(all)
  expect([listener.take().length, listener.hasNews()]).toEqual([mostTold, false])
  standing.see(idOf(mostTold + 1), 1)
  standing.seeAll(andMore)
  expect([listener.take(), listener.hasNews()]).toEqual([[more], false])
  expect(standing.join().take()).toContainEqual(more)
  standing.seeAll(listOf(mostTold - 1))
  standing.see(idOf(mostTold), 1)
  expect(listener.take()).toEqual([
    { projectId: idOf(mostTold), version: 1 },
    { ...more, version: null },
  ])
  expect(standing.join().take()).not.toContainEqual(more)
  standing.seeAll(andMore)
  expect(listener.take()).toEqual([more])
})

test('replaces a project that disappears by the next one', () => {
  const standing = new Standing('somebody', new Groups<Standing>())
  const listener = standing.join()
  standing.seeAll([...listOf(mostTold), [moreMark, 1]])
  listener.take()
  standing.see(idOf(7), undefined)
  const first = listOf(mostTold + 1).filter(([id]) => id !== idOf(7))
  standing.seeAll([...first, [moreMark, 1]])
  expect(listener.take()).toEqual([
    { projectId: idOf(7), version: null },
    { projectId: idOf(mostTold + 1), version: 1 },
  ])
  expect(standing.list).toBe([...first.map((one) => one.join(' ')), `${moreMark} 1`].join())
})

test('a subscriber that left during a read of its projects is not registered again', () => {
  const seenBy = new Groups<Standing>()
  const standing = new Standing('somebody', seenBy)
  const listener = standing.join()
  standing.seeAll(listOf(2))
  listener.following.end()
  standing.end()
  // The result of the read that was in progress.
  standing.seeAll([
    [idOf(1), 2],
    [idOf(3), 1],
  ])
  standing.see(idOf(2), 2)
  for (const n of [1, 2, 3]) expect([...seenBy.of(idOf(n))]).toEqual([])
})

test('a slow subscriber gets only the latest state of each project', () => {
  const standing = new Standing('somebody', new Groups<Standing>())
  const listener = standing.join()
  for (const version of [1, 2, 3]) standing.see(idOf(1), version)
  standing.see(idOf(2), 5)
  standing.see(idOf(2), undefined)
  expect(listener.take()).toEqual([
    { projectId: idOf(1), version: 3 },
    { projectId: idOf(2), version: null },
  ])
})

test('a notification makes a project visible to its new member without a read of all projects', async () => {
  const [ada, grace] = [await register(service.client, 'Ada'), await register(service.client, 'Grace')]
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  // This instance never reads all projects.
  const standings = new Standings(service.services.database.reads)
  const over = new AbortController()
  const listener = await standings.join(grace.id, over.signal)
  await invite(ada, projectId, grace)
  standings.hear({ projectId, version: 2, comers: [grace.id] })
  await eventually('the project', () => listener.hasNews())
  expect(listener.take()).toEqual([{ projectId, version: 2 }])
  over.abort()
})

test('a notification contains the users who joined the project, and no others', async () => {
  const { REDIS_URL = '', REDIS_PREFIX = '' } = service.env
  const redis = new Redis(REDIS_URL)
  const heard: string[] = []
  let arrived = () => {}
  redis.on('message', (_, message: string) => {
    heard.push(message)
    arrived()
  })
  await redis.subscribe(`${REDIS_PREFIX}:versions`)
  const next = async () => {
    while (heard.length === 0) await new Promise<void>((resolve) => (arrived = resolve))
    return heard.shift()?.split(',')[1] // after who tells it
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
