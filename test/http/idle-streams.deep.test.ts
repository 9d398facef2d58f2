import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { freshEnv, make, openClient, openStream, register, requestHead, spawnService } from '../kit.ts'
import { takeEvents, upTo } from '../kit.ts'
import type { Person } from '../kit.ts'

// The server closes idle connections after 30 s; it checks every few seconds.
const idleMs = 36_000
setDefaultTimeout(4 * idleMs)
const env = await freshEnv({ SUBSCRIBERS_PER_ACCOUNT: '3' })
const web = await spawnService('web', env.env)
afterAll(async () => {
  await web.stop()
  await env.drop()
})

const comments = 400
const text = 'x'.repeat(20_000)

/** Creates a project with more event data than all buffers between server and client can store. */
async function createLargeProject(client: Person): Promise<string> {
  const { id } = await make(client, '/projects', { name: 'Large' })
  const task = await make(client, '/tasks', { title: 'Talk', projectId: id })
  for (let done = 0; done < comments; done += 40) {
    const operations = Array(40).fill({ op: 'comment.create', taskId: task.id, text })
    await client.post(`/projects/${id}/batch`, { operations })
  }
  return id
}

/** Opens a stream and stops reading after the first bytes. `rest` reads the bytes that have arrived since. */
async function openStalled(client: Person, path: string) {
  const socket = connect(Number(new URL(web.url).port), '127.0.0.1')
  const received: Buffer[] = []
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()))
  const begun = new Promise<void>((resolve) => {
    socket.once('data', () => {
      socket.pause()
      resolve()
    })
  })
  socket.on('data', (data: Buffer) => received.push(data))
  socket.on('error', () => {})
  const headers = { Authorization: `Bearer ${client.token}`, Accept: 'text/event-stream' }
  socket.write(requestHead('GET', `/api/v1${path}`, headers))
  await begun
  return {
    async rest(): Promise<string> {
      socket.resume()
      await closed
      return Buffer.concat(received).toString()
    },
  }
}

async function untilAccepted(client: Person, path: string): Promise<void> {
  for (;;) {
    const { answer, stop } = await openStream(client, web, path)
    stop()
    if (answer.status === 200) return
    expect(answer.status).toBe(429)
    await sleep(200)
  }
}

test.concurrent(
  'closes a stream whose client stops reading, frees its place, and a reconnect misses no event',
  async () => {
    const ada = await register(openClient(web.url), 'Ada')
    const id = await createLargeProject(ada)
    const path = `/projects/${id}/events?after=0`
    const stalled = [await openStalled(ada, path), await openStalled(ada, path), await openStalled(ada, path)]
    expect((await ada.get(path, { accept: 'text/event-stream' })).status).toBe(429)
    await untilAccepted(ada, path)
    const received = await stalled[0]!.rest()
    const ids = [...received.matchAll(/^id: (\d+)\nevent: .*\ndata: .*\n\n/gm)].map(([, seq]) => Number(seq))
    expect(ids).toEqual(ids.map((_, n) => n + 1))
    expect(ids.length).toBeLessThan(comments)
    const resumed = await openStream(ada, web, path, { 'last-event-id': String(ids.length) })
    const rest = await takeEvents(resumed.messages, comments + 2 - ids.length)
    expect([...ids, ...rest.map((one) => Number(one.id))]).toEqual(upTo(comments + 2))
    resumed.stop()
  },
)

test.concurrent('a stream without events is not closed as idle', async () => {
  const bea = await register(openClient(web.url), 'Bea')
  const { id } = await make(bea, '/projects', { name: 'Quiet' })
  const events = await openStream(bea, web, `/projects/${id}/events`)
  const states = await openStream(bea, web, '/events')
  for (const { messages } of [events, states]) await messages.next()
  const first = { projectId: id, version: 1 } as object
  expect((await states.messages.next()).value).toMatchObject({ data: first })
  await sleep(idleMs)
  const waiting = bea.post('/events/read', { after: { [id]: 1 }, wait: 25 })
  await sleep(1_000)
  const task = await make(bea, '/tasks', { title: 'Draw', projectId: id })
  const created = { entityId: task.id } as object
  expect(await takeEvents(events.messages, 1)).toMatchObject([{ id: '2', data: created }])
  let change: object | undefined
  while (!change) change = (await states.messages.next()).value?.data
  expect(change).toEqual({ projectId: id, version: 2 })
  expect((await waiting).status).toBe(200)
  for (const { stop } of [events, states]) stop()
})
