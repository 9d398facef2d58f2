import { Redis } from 'ioredis'
import { expect, test } from 'bun:test'
import { moreMark, mostTold, Standing } from '../../src/subscriptions/standing.ts'
import { Groups } from '../../src/subscriptions/following.ts'
import { Standings } from '../../src/subscriptions/standings.ts'
import { eventually } from '../races/pair.ts'
import { invite, make, register } from '../support/client.ts'
import { forFile, openTestService } from '../support/service.ts'
import { EventEmitter } from 'node:events'
import { Hints, type Moved } from '../../src/subscriptions/hints.ts'
import { newId } from '../../src/ids.ts'

const service = await forFile(openTestService())

const idOf = (n: number) => `019a0000-0000-7000-8000-${String(n).padStart(12, '0')}`
const listOf = (count: number, from = 1) =>
  Array.from({ length: count }, (_, i): [string, number] => [idOf(from + i), 1])

const more = { projectId: moreMark, version: 1 }

test('so many projects are told and no more; when one goes, another has room', () => {
  const seenBy = new Groups<Standing>()
  const standing = new Standing('somebody', seenBy)
  const listener = standing.join()
  standing.seeAll(listOf(mostTold, 2))
  expect(listener.take()).toHaveLength(mostTold)
  // One that came, with a lower id and with a higher one.
  for (const n of [1, mostTold + 2]) standing.see(idOf(n), 1)
  expect(listener.take()).toEqual([more])
  // Asked for the first of all, the last that was told is not among them, and has not gone.
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

test('that there are more than are told is news, once until it is so again', () => {
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

test('who left while their projects were being looked at is kept nowhere', () => {
  const seenBy = new Groups<Standing>()
  const standing = new Standing('somebody', seenBy)
  const listener = standing.join()
  standing.seeAll(listOf(2))
  listener.following.end()
  standing.end()
  // What the look finds that was under way.
  standing.seeAll([
    [idOf(1), 2],
    [idOf(3), 1],
  ])
  standing.see(idOf(2), 2)
  for (const n of [1, 2, 3]) expect([...seenBy.of(idOf(n))]).toEqual([])
})

test('who is slow hears of each project once, as it is by then', () => {
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

test('a hint is enough for a member to see the project that they came into', async () => {
  const [ada, grace] = [await register(service.client, 'Ada'), await register(service.client, 'Grace')]
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  // Nothing looks at all projects here.
  const standings = new Standings(service.services.database.reads)
  const over = new AbortController()
  const listener = await standings.join(grace.id, over.signal)
  await invite(ada, projectId, grace)
  standings.hear({ projectId, version: 2, comers: [grace.id] })
  await eventually('the project', () => listener.hasNews())
  expect(listener.take()).toEqual([{ projectId, version: 2 }])
  over.abort()
})

test('a hint names who comes into a project, and nobody else', async () => {
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

/** Processes on one channel, each with what it heard. */
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
    const hints = new Hints(redis, subscriber as unknown as Redis, 'versions')
    const heard: Moved[] = []
    hints.listen((moved) => void heard.push(moved))
    return { hints, heard }
  })
  return { subscribers, processes, sent, tellAll: (message: string) => publish('versions', message) }
}

const [projectId, elsewhere, userId] = [newId(), newId(), newId()]
const turn = () => new Promise((resolve) => setImmediate(resolve))

test('what is told is heard once in every process, also in the one that tells it', async () => {
  const { processes, sent } = open(2)
  processes[0]!.hints.tell([{ projectId, version: 3, comers: [userId] }])
  processes[0]!.hints.tell([
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
    expect(heard[0]!.comers).toEqual([userId])
  }
})

test('what says nothing of who tells it is heard as well: so told the release before', async () => {
  const { processes, tellAll } = open(1)
  await tellAll(`${projectId} 7,${elsewhere} 2 ${userId}`)
  expect(processes[0]!.heard).toEqual([
    { projectId, version: 7, comers: [] },
    { projectId: elsewhere, version: 2, comers: [userId] },
  ])
})

test('hints are known to be missed from the end of the connection until it is subscribed again', async () => {
  const { subscribers, processes } = open(1)
  const { hints } = processes[0]!
  await turn()
  expect(hints.areHeard).toBeTrue()
  subscribers[0]!.emit('close')
  expect(hints.areHeard).toBeFalse()
  subscribers[0]!.emit('ready')
  await turn()
  expect(hints.areHeard).toBeTrue()
})
