import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { followByEventSource } from '../http/event-source.ts'
import { applyEvent, emptyReplica, type FeedEvent } from '../http/feed.ts'
import { allPages } from '../http/list-pages.ts'
import { eventually, upTo } from '../races/pair.ts'
import { type Body, make, openClient, register } from '../support/client.ts'
import { followAll, followByFetch, readMany } from './followers.ts'
import { openStand } from './stand.ts'

setDefaultTimeout(300_000)

const closers: (() => Promise<unknown>)[] = []
const stand = await openStand(closers, { webs: 3, withComparison: true })
const ada = await register(openClient(stand.webs[0]!.url), 'Ada')
afterAll(async () => {
  for (const close of closers) await close()
})

/** Does a write until it is done: under its key it is done once, however often it is sent. */
async function certainly(n: number, method: 'POST' | 'PATCH', path: string, body: object): Promise<Body> {
  const key = crypto.randomUUID()
  for (let attempt = 0; ; attempt++) {
    const { url } = stand.webs[(n + attempt) % stand.webs.length]!
    const sent = fetch(`${url}/api/v1${path}`, {
      method,
      headers: {
        ...{ authorization: `Bearer ${ada.token}`, 'content-type': 'application/json' },
        'idempotency-key': key,
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(20_000),
    })
    const answer = await sent.catch(() => undefined)
    if (answer?.ok) return (await answer.json()) as Body
    await answer?.body?.cancel()
    await sleep(50)
  }
}

function keepWriting(ids: string[]) {
  let goesOn = true
  let rounds = 0
  const done = (async () => {
    for (; goesOn; rounds++) {
      await Promise.all(
        ids.map(async (projectId, n) => {
          const task = await certainly(n, 'POST', '/tasks', { title: `Round ${rounds}`, projectId })
          if (n % 3 === rounds % 3) await certainly(n, 'PATCH', `/tasks/${task.id}`, { status: 'DONE' })
        }),
      )
    }
  })()
  const more = async (count: number) => {
    const wanted = rounds + count
    await eventually(`${count} more rounds of writes`, () => rounds >= wanted)
  }
  return { more, stop: () => ((goesOn = false), done) }
}

const faults: Record<string, (more: (count: number) => Promise<void>) => Promise<void>> = {
  async 'Redis is killed, and comes back empty'(more) {
    await stand.redis.kill()
    await more(3)
    await stand.redis.start('empty')
    await more(3)
  },
  async 'a process is killed that clients listen to'(more) {
    await stand.webs[1]!.kill()
    await more(2)
    await stand.webs[1]!.start()
    await more(2)
  },
  async 'Postgres is torn down, and recovers'(more) {
    await stand.postgres.stopImmediately()
    await sleep(1_500) // long enough for clients to come back in vain
    await stand.postgres.start()
    await more(3)
  },
  async 'all connections to Postgres are cut, again and again'(more) {
    for (const _ of upTo(5)) {
      await stand.postgres.ask(
        (sql) =>
          sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'docket'`,
      )
      await more(1)
    }
  },
  async 'the other process is killed that clients listen to'(more) {
    await stand.webs[2]!.kill()
    await more(2)
    await stand.webs[2]!.start()
    await more(2)
  },
}

function folded(events: FeedEvent[]): unknown[] {
  const model = emptyReplica()
  for (const event of events) applyEvent(model, event)
  return [...model.task.values()]
}

test('whatever fails meanwhile, each who follows sees all, once and in order, and ends with what is there', async () => {
  const ids: string[] = []
  for (const n of upTo(20)) ids.push((await make(ada, '/projects', { name: `P${n}` })).id)
  const atOf = (n: number) => () => stand.webs[1 + (n % 2)]!.url
  const token = ada.token!
  const sources = ids.map((id, n) => followByEventSource(atOf(n)(), token, id))
  const readers = ids.map((id, n) => followByFetch(atOf(n + 1), token, id))
  const all = followAll(atOf(0), token)
  const many = readMany(atOf(1), token, ids)
  const writing = keepWriting(ids)
  await writing.more(2)
  for (const fail of Object.values(faults)) await fail(writing.more)
  await writing.stop()

  for (const [n, id] of ids.entries()) {
    const answer = await ada.get(`/projects/${id}`)
    const version = Number(answer.headers.get('docket-version'))
    expect(version).toBeGreaterThan(20)
    const views = [sources[n]!.events, readers[n]!.seen, many.seen.get(id)!]
    await eventually(`all ${version} events`, () => views.every(({ length }) => length >= version))
    await eventually('the version is told', () => all.versions.get(id) === version)
    const tasks = (await allPages(ada, `/tasks?projectId=${id}`)).flat()
    for (const seen of views) {
      expect(seen.map(({ seq }) => seq)).toEqual(upTo(version))
      expect(folded(seen)).toEqual(tasks)
    }
  }
  for (const { close } of sources) close()
  for (const { stop } of [...readers, all, many]) stop()
})
