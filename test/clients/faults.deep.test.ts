import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { Docket } from '../../clients/typescript/src/docket.ts'
import type { FeedItem } from '../../clients/typescript/src/feed/follow.ts'
import { openDeployment } from '../faults/deployment.ts'
import { applyEvent, emptyReplica, eventually, type FeedEvent, openClient, Random } from '../kit.ts'
import { register, terminateConnections, upTo, versionOf } from '../kit.ts'

setDefaultTimeout(300_000)

const closers: (() => Promise<unknown>)[] = []
const { webs, redis, postgres } = await openDeployment(closers, { webs: 2 })
const ada = await register(openClient(webs[0]!.url), 'Ada')
const docketAt = (n: number) => new Docket({ url: webs[n]!.url, token: ada.token!, deadlineMs: 120_000 })
const writer = docketAt(0)
afterAll(async () => {
  for (const close of closers) await close()
})

const projects = await Promise.all(upTo(4).map(() => writer.projects.create({ name: 'Engine' })))
const ids = projects.map(({ id }) => id)
const followed = ids.slice(0, 3)
/** Receives tasks of the other projects. */
const other = ids[3]!

function startWriting() {
  const random = new Random(1)
  let [isRunning, rounds] = [true, 0]
  const writeRound = async (id: string) => {
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
    for (; isRunning; rounds++) await Promise.all(followed.map(writeRound))
  })()
  const twoRounds = async () => {
    const enough = rounds + 2
    await eventually('two more rounds of writes', () => rounds >= enough)
  }
  return { twoRounds, stop: () => ((isRunning = false), done) }
}

const web = webs[1]!
const faults = [
  async () => redis.kill(),
  () => redis.restart('delete'),
  () => web.kill(),
  () => web.start(),
  () => web.kill(),
  () => web.start(),
  async () => {
    await postgres.stopImmediately()
    await sleep(1_500)
    await postgres.start()
  },
  () => postgres.query(terminateConnections),
  async () => {
    expect(await web.stop()).toBe(true)
    await web.start()
  },
]

test('follow and mirror equal the rows after kills of Redis, Postgres and the process that serves them', async () => {
  const stop = new AbortController()
  const { signal } = stop
  const collect = async (items: AsyncIterable<FeedItem>, into: FeedItem[]) => {
    for await (const item of items) into.push(item)
  }
  const feeds = followed.map((id) => {
    const project = docketAt(1).project(id)
    const logs: FeedItem[][] = [[], [], []]
    const transports = [{}, { transport: 'sse' }, { transport: 'poll' }] as const
    const ends = transports.map((given, n) =>
      collect(project.follow({ after: 0, signal, ...given }), logs[n]!),
    )
    const mirror = project.mirror({ signal })
    return { id, logs, mirror, ended: Promise.all([...ends, mirror.ended]) }
  })
  const writing = startWriting()
  for (const inject of faults) {
    await inject()
    await writing.twoRounds()
  }
  await writing.stop()
  for (const { id, logs, mirror } of feeds) {
    const version = await versionOf(ada, id)
    const hasAll = () => mirror.seq >= version && logs.every(({ length }) => length >= version)
    await eventually(`version ${version}`, hasAll)
    const rows = await writer.tasks.list({ projectId: id }).all()
    expect([...mirror.values()]).toEqual(rows)
    for (const log of logs) {
      // A worker may record ready tasks later.
      const events = log.slice(0, version)
      // No event has expired, so no item is a snapshot.
      expect(events.map(({ type, seq }) => [type === 'snapshot', seq])).toEqual(
        upTo(version).map((n) => [false, n]),
      )
      const replica = emptyReplica()
      for (const event of events as FeedEvent[]) if (event.entity === 'task') applyEvent(replica, event)
      expect([...replica.task.keys()].sort()).toEqual(rows.map((task) => task.id))
    }
  }
  stop.abort()
  await Promise.all(feeds.map(({ ended }) => ended))
})
