import { execFileSync } from 'node:child_process'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, setDefaultTimeout, test } from 'bun:test'
import {
  make,
  openStream,
  openWebProcess,
  register,
  requestHead,
  runBatch,
  takeEvents,
  upTo,
} from '../kit.ts'
import type { Person } from '../kit.ts'

setDefaultTimeout(180_000)
const most = 21
const { web, ada } = await openWebProcess({ SUBSCRIBERS_PER_ACCOUNT: String(most) })
const bea = await register(ada.as(), 'Bea')
const mebibytes = () => Number(execFileSync('ps', ['-o', 'rss=', '-p', String(web.pid)])) / 1_024

/** Opens a stream and stops reading after the first bytes. `rest` reads the bytes that have arrived since. */
async function openStalled(client: Person, path: string) {
  const socket = connect(Number(new URL(web.url).port), '127.0.0.1')
  const received: Buffer[] = []
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()))
  socket.on('data', (data: Buffer) => received.push(data))
  socket.on('error', () => {})
  const headers = { Authorization: `Bearer ${client.token}`, Accept: 'text/event-stream' }
  socket.write(requestHead('GET', `/api/v1${path}`, headers))
  await new Promise((resolve) => socket.once('data', () => resolve(socket.pause())))
  return {
    socket,
    async rest(): Promise<string> {
      socket.resume()
      await closed
      return Buffer.concat(received).toString()
    },
  }
}

/** Opens as many streams as the account may have, besides one. */
const openAllStalled = (path: string) => Promise.all(upTo(most - 1).map(() => openStalled(ada, path)))

const comments = 1_120
/** Creates a project with 22 MB of events; the kernel buffers about 10 MB for a connection that is not read. */
async function createLargeProject(): Promise<string> {
  const { id } = await make(ada, '/projects', { name: 'Large' })
  const { id: taskId } = await make(ada, '/tasks', { title: 'Talk', projectId: id })
  const comment = { op: 'comment.create', taskId, text: 'x'.repeat(20_000) }
  for (let done = 0; done < comments; done += 40) await runBatch(ada, id, Array(40).fill(comment))
  return id
}

test('a stream whose client stops reading needs little memory, is closed, and a reconnect misses no event; a quiet stream stays open', async () => {
  const { id: quiet } = await make(bea, '/projects', { name: 'Quiet' })
  const events = await openStream(bea, web, `/projects/${quiet}/events`)
  const versions = await openStream(bea, web, '/events')
  for (const { messages } of [events, versions, versions]) await messages.next()

  const id = await createLargeProject()
  // The type filter matters: unfiltered events are encoded once for all streams.
  const path = `/projects/${id}/events?after=2&types=comment.created`
  const before = mebibytes()
  const [first] = await openAllStalled(path)
  const live = await openStream(ada, web, path)
  expect(await takeEvents(live.messages, comments)).toHaveLength(comments)
  // Measured: 30 to 70 MiB. A service that buffers all events would need 450 MiB.
  expect(mebibytes() - before).toBeLessThan(300)
  // The server closes connections after 30 s without progress, and checks every few seconds.
  let statuses: number[] = []
  while (statuses.at(-1) !== 200) {
    const { answer, stop } = await openStream(ada, web, path)
    stop()
    statuses.push(answer.status)
    await sleep(200)
  }
  expect(new Set(statuses)).toEqual(new Set([429, 200]))
  const received = await first!.rest()
  const ids = [...received.matchAll(/^id: (\d+)\nevent: .*\ndata: .*\n\n/gm)].map(([, seq]) => Number(seq))
  expect(ids.length).toBeLessThan(comments)
  const resumed = await openStream(ada, web, path, { 'last-event-id': String(ids.at(-1) ?? 2) })
  const rest = await takeEvents(resumed.messages, comments - ids.length)
  resumed.stop()
  expect([...ids, ...rest.map((one) => Number(one.id))]).toEqual(upTo(comments + 2).slice(2))

  const waiting = bea.post('/events/read', { after: { [quiet]: 1 }, wait: 25 })
  await make(bea, '/tasks', { title: 'Draw', projectId: quiet })
  expect(await takeEvents(events.messages, 1)).toMatchObject([{ id: '2', event: 'task.created' }])
  let change: object | undefined
  while (!change) change = (await versions.messages.next()).value?.data
  expect(change).toEqual({ projectId: quiet, version: 2 })
  expect((await waiting).status).toBe(200)

  const stalled = await Promise.all(upTo(5).map(() => openStalled(ada, path)))
  const ended = takeEvents(live.messages, 9)
  const stopped = web.stop()
  expect(await ended).toMatchObject([{ event: 'end', data: { statusCode: 503 } }])
  for (const { socket } of stalled) socket.destroy()
  expect(await stopped).toBe(0)
})
