import { execFileSync } from 'node:child_process'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, setDefaultTimeout, test } from 'bun:test'
import { make, openClient, openStream, openWebProcess, register, requestHead, runBatch } from '../kit.ts'
import { takeEvents, upTo } from '../kit.ts'
import type { Client, Person, ServiceProcess } from '../kit.ts'

// The server closes idle connections after 30 s; it checks every few seconds.
const idleMs = 36_000
setDefaultTimeout(4 * idleMs)
const { web, ada } = await openWebProcess({ SUBSCRIBERS_PER_ACCOUNT: '3' })

/** Creates a project with long comments: more event data than all buffers between server and client can store. */
async function createLargeProject(client: Client, count: number, text: string): Promise<string> {
  const { id } = await make(client, '/projects', { name: 'Large' })
  const { id: taskId } = await make(client, '/tasks', { title: 'Talk', projectId: id })
  const comment = { op: 'comment.create', taskId, text }
  for (let done = 0; done < count; done += 15)
    await runBatch(
      client,
      id,
      upTo(Math.min(15, count - done)).map(() => comment),
    )
  return id
}

/** Opens a stream of which nothing is read. */
function openUnread({ url }: ServiceProcess, { token }: Person, path: string) {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.pause()
  socket.on('error', () => {})
  const headers = { Authorization: `Bearer ${token}`, Accept: 'text/event-stream', Connection: 'keep-alive' }
  socket.write(requestHead('GET', `/api/v1${path}`, headers))
  return socket
}

test.concurrent(
  'closes a stream whose client stops reading, frees its place, and a reconnect misses no event',
  async () => {
    const comments = 400
    const id = await createLargeProject(ada, comments, 'x'.repeat(20_000))
    const path = `/projects/${id}/events?after=0`
    const stalled = upTo(3).map(() => openUnread(web, ada, path))
    const isAccepted = async () => {
      const { answer, stop } = await openStream(ada, web, path)
      stop()
      if (answer.status !== 200) expect(answer.status).toBe(429)
      return answer.status === 200
    }
    while (await isAccepted()) await sleep(200)
    while (!(await isAccepted())) await sleep(200)
    const received = (await stalled[0]!.toArray()).join('')
    const ids = [...received.matchAll(/^id: (\d+)\nevent: .*\ndata: .*\n\n/gm)].map(([, seq]) => Number(seq))
    expect(ids).toEqual(upTo(ids.length))
    expect(ids.length).toBeLessThan(comments)
    const resumed = await openStream(ada, web, path, { 'last-event-id': String(ids.length) })
    const rest = await takeEvents(resumed.messages, comments + 2 - ids.length)
    expect([...ids, ...rest.map((one) => Number(one.id))]).toEqual(upTo(comments + 2))
    resumed.stop()
  },
)

test.concurrent('a stream without events is not closed as idle', async () => {
  const { web } = await openWebProcess({})
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

test('streams whose clients do not read need a limited amount of memory, and end with 503 when the process stops', async () => {
  const { web, ada } = await openWebProcess({})
  const mebibytes = () => Number(execFileSync('ps', ['-o', 'rss=', '-p', String(web.pid)])) / 1_024
  // 22 MB of events; the kernel buffers about 10 MB for a connection that is not read.
  const id = await createLargeProject(ada, 375, '語'.repeat(20_000))
  // The type filter matters: unfiltered events are encoded once for all streams.
  const path = (after: number) => `/projects/${id}/events?after=${after}&types=comment.created`
  const sockets = upTo(20).map((n) => openUnread(web, ada, path(n - 1)))
  const before = mebibytes()
  const live = await openStream(ada, web, `/projects/${id}/events?after=0`)
  expect(await takeEvents(live.messages, 377)).toHaveLength(377)
  // Measured: 30 to 70 MiB. A service that buffers all events would need 450 MiB.
  expect(mebibytes() - before).toBeLessThan(300)
  const ended = takeEvents(live.messages, 9)
  const stopped = web.stop()
  expect(await ended).toMatchObject([{ event: 'end', data: { statusCode: 503 } }])
  for (const socket of sockets) socket.destroy()
  expect(await stopped).toBe(0)
})
