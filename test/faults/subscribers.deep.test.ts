import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { followByEventSource } from '../http/event-source.ts'
import { allPages, applyEvent, emptyReplica, eventually, make, openClient, Random, register } from '../kit.ts'
import { terminateConnections, upTo } from '../kit.ts'
import type { FeedEvent } from '../kit.ts'
import { openDeployment } from './deployment.ts'
import { History } from './history.ts'
import { RecordingClient } from './load.ts'
import { pollMany, subscribeToAll } from './subscribers.ts'

setDefaultTimeout(300_000)

const closers: (() => Promise<unknown>)[] = []
const { webs, redis, postgres } = await openDeployment(closers, { webs: 3, withComparison: true })
const urls = webs.map(({ url }) => url)
const ada = await register(openClient(urls[0]!), 'Ada')
const writer = new RecordingClient(urls, new History(), new Random(1))
const caller = { id: ada.id, token: ada.token! }
afterAll(async () => {
  for (const close of closers) await close()
})

async function write(method: 'POST' | 'PATCH', path: string, body: Record<string, unknown>) {
  const { text } = await writer.sendUnrecorded({ method, path, body, caller }, method === 'POST' ? 201 : 200)
  return JSON.parse(text) as { id: string }
}

function startWriting(ids: string[]) {
  let isRunning = true
  let rounds = 0
  const done = (async () => {
    for (; isRunning; rounds++) {
      await Promise.all(
        ids.map(async (projectId, n) => {
          const task = await write('POST', '/tasks', { title: `Round ${rounds}`, projectId })
          if (n % 3 === rounds % 3) await write('PATCH', `/tasks/${task.id}`, { status: 'DONE' })
        }),
      )
    }
  })()
  const moreRounds = async (count: number) => {
    const enough = rounds + count
    await eventually(`${count} more rounds of writes`, () => rounds >= enough)
  }
  return { moreRounds, stop: () => ((isRunning = false), done) }
}

type Fault = (moreRounds: (count: number) => Promise<void>) => Promise<void>

const killWeb =
  (n: number): Fault =>
  async (moreRounds) => {
    await webs[n]!.kill()
    await moreRounds(2)
    await webs[n]!.start()
    await moreRounds(2)
  }

const faults: Fault[] = [
  async (moreRounds) => {
    redis.kill()
    await moreRounds(3)
    await redis.restart('delete')
    await moreRounds(3)
  },
  killWeb(1),
  async (moreRounds) => {
    await postgres.stopImmediately()
    await sleep(1_500)
    await postgres.start()
    await moreRounds(3)
  },
  async (moreRounds) => {
    for (const _ of upTo(5)) {
      await postgres.query(terminateConnections)
      await moreRounds(1)
    }
  },
  killWeb(2),
]

function tasksAfter(events: FeedEvent[]): unknown[] {
  const model = emptyReplica()
  for (const event of events) applyEvent(model, event)
  return [...model.task.values()]
}

test('every subscriber receives every event once and in order while Redis, Postgres and processes fail', async () => {
  const ids: string[] = []
  for (const n of upTo(20)) ids.push((await make(ada, '/projects', { name: `P${n}` })).id)
  const urlOf = (n: number) => urls[1 + (n % 2)]!
  const token = ada.token!
  const sources = ids.map((id, n) => followByEventSource(urlOf(n), token, id))
  const all = subscribeToAll(() => urlOf(0), token)
  const many = pollMany(() => urlOf(1), token, ids)
  const writing = startWriting(ids)
  await writing.moreRounds(2)
  for (const inject of faults) await inject(writing.moreRounds)
  await writing.stop()

  for (const [n, id] of ids.entries()) {
    const { headers } = await ada.get(`/projects/${id}`)
    const version = Number(headers.get('docket-version'))
    expect(version).toBeGreaterThan(20)
    const views = [sources[n]!.events, many.received.get(id)!]
    await eventually(`all ${version} events`, () => views.every(({ length }) => length >= version))
    await eventually(`version ${version}`, () => all.versions.get(id) === version)
    const tasks = (await allPages(ada, `/tasks?projectId=${id}`)).flat()
    for (const events of views) {
      expect(events.map(({ seq }) => seq)).toEqual(upTo(version))
      expect(tasksAfter(events)).toEqual(tasks)
    }
  }
  for (const { close } of sources) close()
  for (const { stop } of [all, many]) stop()
})
