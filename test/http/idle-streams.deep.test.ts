import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { make, openClient, type Person, register } from '../support/client.ts'
import { freshEnv, spawnService } from '../support/service.ts'
import { requestHead } from './raw.ts'
import { openStream, takeEvents } from './streaming.ts'

// The server takes a connection for idle after 30 s, and looks every few seconds.
const silenceMs = 36_000
setDefaultTimeout(4 * silenceMs)
const env = await freshEnv({ SUBSCRIBERS_PER_ACCOUNT: '3' })
const web = await spawnService('web', env.env)
afterAll(async () => {
  await web.stop()
  await env.drop()
})

const comments = 400
const text = 'x'.repeat(20_000)

/** A project whose events are far more than any buffer on the way takes. */
async function openLoud(who: Person): Promise<string> {
  const { id } = await make(who, '/projects', { name: 'Loud' })
  const task = await make(who, '/tasks', { title: 'Talk', projectId: id })
  for (let done = 0; done < comments; done += 40) {
    const operations = Array(40).fill({ op: 'comment.create', taskId: task.id, text })
    await who.post(`/projects/${id}/batch`, { operations })
  }
  return id
}

/** Asks for a stream and reads only its beginning, until it is told to: then all that had arrived. */
async function stall(who: Person, path: string) {
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
  const headers = { Authorization: `Bearer ${who.token}`, Accept: 'text/event-stream' }
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

async function untilThereIsRoom(who: Person, path: string): Promise<void> {
  for (;;) {
    const { answer, stop } = await openStream(who, web, path)
    stop()
    if (answer.status === 200) return
    expect(answer.status).toBe(429)
    await sleep(200)
  }
}

test.concurrent(
  'who takes nothing is cut, gives back their place, and misses nothing when they come back',
  async () => {
    const ada = await register(openClient(web.url), 'Ada')
    const id = await openLoud(ada)
    const path = `/projects/${id}/events?after=0`
    const stalled = [await stall(ada, path), await stall(ada, path), await stall(ada, path)]
    expect((await ada.get(path, { accept: 'text/event-stream' })).status).toBe(429)
    await untilThereIsRoom(ada, path)
    const had = await stalled[0]!.rest()
    const ids = [...had.matchAll(/^id: (\d+)\nevent: .*\ndata: .*\n\n/gm)].map(([, seq]) => Number(seq))
    expect(ids).toEqual(ids.map((_, n) => n + 1))
    expect(ids.length).toBeLessThan(comments)
    const again = await openStream(ada, web, path, { 'last-event-id': String(ids.length) })
    const rest = await takeEvents(again.messages, comments + 2 - ids.length)
    expect([...ids, ...rest.map((one) => Number(one.id))]).toEqual(
      Array.from({ length: comments + 2 }, (_, n) => n + 1),
    )
    again.stop()
  },
)

test.concurrent('a silent stream is not taken for idle', async () => {
  const bea = await register(openClient(web.url), 'Bea')
  const { id } = await make(bea, '/projects', { name: 'Quiet' })
  const streams = [
    await openStream(bea, web, `/projects/${id}/events`),
    await openStream(bea, web, '/events'),
  ]
  const [events, states] = streams as [(typeof streams)[0], (typeof streams)[0]]
  for (const { messages } of streams) await messages.next()
  expect((await states.messages.next()).value).toMatchObject({
    data: { projectId: id, version: 1 } as object,
  })
  await sleep(silenceMs)
  const waiting = bea.post('/events/read', { after: { [id]: 1 }, wait: 25 })
  await sleep(1_000)
  const task = await make(bea, '/tasks', { title: 'Draw', projectId: id })
  expect(await takeEvents(events.messages, 1)).toMatchObject([
    { id: '2', data: { entityId: task.id } as object },
  ])
  const told: object[] = []
  while (told.length < 1) {
    const { value } = await states.messages.next()
    if (value?.data) told.push(value.data)
  }
  expect(told).toEqual([{ projectId: id, version: 2 }])
  expect((await waiting).status).toBe(200)
  for (const { stop } of streams) stop()
})
