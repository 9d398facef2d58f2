import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { Docket } from '../../clients/typescript/src/docket.ts'
import type { FeedItem } from '../../clients/typescript/src/feed/follow.ts'
import type { FeedEvent } from '../../clients/typescript/src/feed/events.ts'
import { openDeployment } from '../faults/deployment.ts'
import { applyEvent, emptyReplica, eventually, openClient, Random, register } from '../kit.ts'
import { terminateConnections, upTo } from '../kit.ts'
import type { FeedEvent as StoredEvent } from '../kit.ts'

setDefaultTimeout(300_000)

const closers: (() => Promise<unknown>)[] = []
const { webs, redis, postgres } = await openDeployment(closers, { webs: 2, withComparison: true })
const ada = await register(openClient(webs[0]!.url), 'Ada')
const docketAt = (n: number) => new Docket({ url: webs[n]!.url, token: ada.token!, deadlineMs: 120_000 })
const writer = docketAt(0)
afterAll(async () => {
  for (const close of closers) await close()
})

interface Followed {
  id: string
  other: string
  logs: FeedEvent[][]
}

function startWriting(projects: Followed[]) {
  const random = new Random(1)
  let [isRunning, rounds] = [true, 0]
  const writeRound = async ({ id, other }: Followed) => {
    const label = await writer.labels.create({ projectId: id, name: `L${rounds}` })
    const blocker = await writer.tasks.create({ projectId: id, title: 'Blocker' })
    const more = { labelIds: [label.id], blockedByIds: [blocker.id] }
    const task = await writer.tasks.create({ projectId: id, title: `Round ${rounds}`, ...more })
    const { version } = await writer.project(id).batch((b) => {
      b.task.update({ id: task.id, status: 'IN_PROGRESS' })
      if (random.below(2) === 0) b.label.delete({ id: label.id })
      b.task.delete({ id: blocker.id })
    })
    if (random.below(2) === 0) await writer.project(id).undo({ seq: version })
    if (random.below(3) > 0) await writer.tasks.update(task.id, { projectId: other })
    if (random.below(2) === 0) await writer.tasks.update(task.id, { projectId: id })
  }
  const done = (async () => {
    for (; isRunning; rounds++) await Promise.all(projects.map(writeRound))
  })()
  const moreRounds = async (count: number) => {
    const enough = rounds + count
    await eventually(`${count} more rounds of writes`, () => rounds >= enough)
  }
  return { moreRounds, stop: () => ((isRunning = false), done) }
}

async function injectFaults(moreRounds: (count: number) => Promise<void>): Promise<void> {
  redis.kill()
  await moreRounds(2)
  await redis.restart('delete')
  await moreRounds(2)
  for (const _ of upTo(2)) {
    await webs[1]!.kill()
    await moreRounds(2)
    await webs[1]!.start()
    await moreRounds(2)
  }
  await postgres.stopImmediately()
  await sleep(1_500)
  await postgres.start()
  await moreRounds(2)
  await postgres.query(terminateConnections)
  await moreRounds(2)
  expect(await webs[1]!.stop()).toBe(true)
  await webs[1]!.start()
  await moreRounds(2)
}

async function collect(items: AsyncIterable<FeedItem>, into: FeedEvent[]): Promise<void> {
  for await (const item of items) {
    if (item.type === 'snapshot') throw new Error('No event has expired')
    into.push(item)
  }
}

test('follow and mirror equal the rows after kills of Redis, Postgres and the process that serves them', async () => {
  const stop = new AbortController()
  const { signal } = stop
  const ids = await Promise.all(
    upTo(6).map(async () => (await writer.projects.create({ name: 'Engine' })).id),
  )
  const transports = [undefined, 'sse', 'poll'] as const
  const followed: Followed[] = upTo(3).map((n) => ({ id: ids[n]!, other: ids[n + 2]!, logs: [] }))
  const ends: Promise<void>[] = []
  for (const { id, logs } of followed)
    for (const transport of transports) {
      const log: FeedEvent[] = []
      logs.push(log)
      const items = docketAt(1)
        .project(id)
        .follow({ after: 0, signal, ...(transport && { transport }) })
      ends.push(collect(items, log))
    }
  const mirrors = followed.map(({ id }) => docketAt(1).project(id).mirror({ signal }))
  const writing = startWriting(followed)
  await injectFaults(writing.moreRounds)
  await writing.stop()
  for (const [n, { id, logs }] of followed.entries()) {
    const { headers } = await ada.get(`/projects/${id}`)
    const version = Number(headers.get('docket-version'))
    const mirror = mirrors[n]!
    await eventually(
      `version ${version}`,
      () => mirror.seq >= version && logs.every(({ length }) => length >= version),
    )
    const rows = await writer.tasks.list({ projectId: id }).all()
    expect([...mirror.values()]).toEqual(rows)
    for (const events of logs) {
      expect(events.map(({ seq }) => seq)).toEqual(upTo(version))
      const replica = emptyReplica()
      for (const event of events) if (event.entity === 'task') applyEvent(replica, event as StoredEvent)
      expect([...replica.task.keys()].sort()).toEqual(rows.map((task) => task.id))
    }
  }
  stop.abort()
  await Promise.all([...ends, ...mirrors.map(({ ended }) => ended)])
})
