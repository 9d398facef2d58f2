import { BadRequestError, NotFoundError } from '../../clients/typescript/src/errors.ts'
import type { FeedItem } from '../../clients/typescript/src/feed/follow.ts'
import { invite, make, register, upTo } from '../kit.ts'
import { openClientScene } from './scene.ts'

const { service, ada, docket, open, send } = await openClientScene({ HISTORY_DAYS: '30' })

/** Reads items until the version `seq`. */
async function readUntil(items: AsyncIterable<FeedItem>, seq: number): Promise<FeedItem[]> {
  const read: FeedItem[] = []
  for await (const item of items) {
    read.push(item)
    if (item.seq >= seq) return read
  }
  throw new Error('The feed ended early')
}

async function newProject(tasks = 0) {
  const { id } = await docket.projects.create({ name: 'Engine' })
  for (const n of upTo(tasks)) await docket.tasks.create({ projectId: id, title: `T${n}` })
  return { id, project: docket.project(id) }
}

const isStream = (init?: RequestInit) => new Headers(init?.headers).get('accept') === 'text/event-stream'
const seqs = (items: FeedItem[]) => items.map(({ seq }) => seq)

test.each(['sse', 'poll'] as const)('yields every event once and in order over %s', async (transport) => {
  const { id, project } = await newProject(3)
  const reading = readUntil(project.follow({ after: 0, transport }), 205)
  await project.batch((b) => upTo(200).forEach((n) => void b.task.create({ title: `B${n}` })))
  await docket.tasks.create({ projectId: id, title: 'Last' })
  const items = await reading
  expect(seqs(items)).toEqual(upTo(205))
  const [first] = items
  if (first?.type !== 'project.created') throw new Error(`not the creation: ${first?.type}`)
  expect(first.after?.name satisfies string | undefined).toBe('Engine')
})

test.each(['sse', 'poll'] as const)('leaves out the events of `exceptActor` over %s', async (transport) => {
  const { id, project } = await newProject()
  const bea = await register(service.client, 'Bea')
  await invite(ada, id, bea, 'EDITOR')
  const reading = readUntil(project.follow({ after: 0, exceptActor: 'me', transport }), 404)
  await project.batch((b) => upTo(400).forEach((n) => void b.task.create({ title: `B${n}` })))
  await make(bea, '/tasks', { projectId: id, title: 'First' })
  await make(bea, '/tasks', { projectId: id, title: 'Last' })
  expect(seqs(await reading)).toEqual([403, 404])
})

test('continues after the last event when streams break', async () => {
  const { id } = await newProject()
  let streams = 0
  const flaky = open({
    async fetch(url, init) {
      const response = await send(url, init)
      if (!isStream(init)) return response
      const [own, rest] = [response.body!, (streams++ % 3) * 700]
      let left = 500 + rest
      const cut = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          controller.enqueue(chunk.slice(0, left))
          left -= chunk.length
          if (left <= 0) controller.error(new Error('The connection broke'))
        },
      })
      return new Response(own.pipeThrough(cut), response)
    },
  })
  const read: number[] = []
  for await (const { seq } of flaky.project(id).follow({ after: 0, transport: 'sse' })) {
    if (read.push(seq) === 20) break
    await docket.tasks.create({ projectId: id, title: 'Next' })
  }
  expect(read).toEqual(upTo(20))
  expect(streams).toBeGreaterThan(1)
})

test.each([
  ['are rejected', () => new Response('<h1>Forbidden</h1>', { status: 403 })],
  ['return an HTML page', () => new Response('<h1>Hello</h1>')],
  ['end at once', () => new Response('', { headers: { 'content-type': 'text/event-stream' } })],
])('uses long polls if streams %s', async (_, answer) => {
  const { id } = await newProject(1)
  let streams = 0
  const blocked = open({
    async fetch(url, init) {
      if (isStream(init)) return (streams++, answer())
      const response = send(url, init)
      if (url.includes('wait=')) await docket.tasks.create({ projectId: id, title: 'New' })
      return response
    },
  })
  const items = await readUntil(blocked.project(id).follow({ after: 2 }), 5)
  expect(seqs(items)).toEqual([3, 4, 5])
  expect(streams).toBe(2)
})

test('ignores repeated events, and reads the events that a stream has omitted', async () => {
  const { id } = await newProject(3)
  const { body: events } = await ada.get(`/projects/${id}/events`)
  const sent = [1, 2, 2, 1, 4].map((seq) => `data: ${JSON.stringify(events[seq - 1])}\n\n`).join('')
  const wrong = open({
    fetch: async (url, init) =>
      isStream(init)
        ? new Response(sent, { headers: { 'content-type': 'text/event-stream' } })
        : send(url, init),
  })
  const items = await readUntil(wrong.project(id).follow({ after: 0 }), 4)
  expect(seqs(items)).toEqual([1, 2, 3, 4])
})

test('by default begins with new events; with `snapshot: true`, with the tasks', async () => {
  const { id, project } = await newProject(2)
  const [fromNow, fromSnapshot] = [project.follow(), project.follow({ snapshot: true })]
  const [first] = await readUntil(fromSnapshot, 3)
  expect(first).toMatchObject({ type: 'snapshot', seq: 3, labels: [], fields: [] })
  expect(first).toMatchObject({ tasks: await docket.tasks.list({ projectId: id }) })
  const next = fromNow.next()
  await docket.tasks.create({ projectId: id, title: 'New' })
  expect((await next).value).toMatchObject({ type: 'task.created', seq: 4 })
})

test('yields whole snapshots, also if streams break before the end of their snapshot', async () => {
  const { id } = await newProject()
  await docket.project(id).batch((b) => upTo(450).forEach((n) => void b.task.create({ title: `T${n}` })))
  let streams = 0
  const cut = open({
    async fetch(url, init) {
      if (!isStream(init) || streams++ > 0) return send(url, init)
      const part = 'event: snapshot\ndata: {"version":2,"kind":"tasks","rows":[{}]}\n\n'
      return new Response(part, { headers: { 'content-type': 'text/event-stream' } })
    },
  })
  const items = cut.project(id).follow({ snapshot: true, transport: 'sse' })
  const [first] = await readUntil(items, 451)
  expect(first).toMatchObject({
    type: 'snapshot',
    seq: 451,
    tasks: await docket.tasks.list({ projectId: id }).all(),
  })
})

test.each(['sse', 'poll'] as const)(
  'begins again with a snapshot if the events have expired, over %s',
  async (transport) => {
    const { id, project } = await newProject(4)
    await service.services.database.reads`delete from events where project_id = ${id} and seq < 4`
    const items = project.follow({ after: 1, transport })
    const [first] = await readUntil(items, 5)
    expect(first).toMatchObject({
      type: 'snapshot',
      seq: 5,
      tasks: await docket.tasks.list({ projectId: id }),
    })
  },
)

test('begins again with a snapshot if the service has lost events of the snapshot', async () => {
  const { id } = await newProject(1)
  let isBehind = true
  const behind = () => Response.json({ message: 'after is ahead of the project' }, { status: 400 })
  const client = open({
    fetch: async (url, init) => (isBehind && url.includes('/events') ? behind() : send(url, init)),
  })
  const follow = async () => {
    const items = client.project(id).follow({ snapshot: true, transport: 'poll' })
    for (const _ of upTo(2)) expect((await items.next()).value).toMatchObject({ type: 'snapshot', seq: 2 })
    return items
  }
  // An invalid request is not repeated for ever.
  await expect((await follow()).next()).rejects.toBeInstanceOf(BadRequestError)
  const items = await follow()
  isBehind = false
  const next = items.next()
  await docket.tasks.create({ projectId: id, title: 'New' })
  expect((await next).value).toMatchObject({ type: 'task.created', seq: 3 })
  await items.return()
})

test.each(['sse', 'poll'] as const)(
  'ends without an error when the signal aborts, over %s',
  async (transport) => {
    const { project } = await newProject()
    const stop = new AbortController()
    const items = project.follow({ after: 1, signal: stop.signal, transport })
    const next = items.next()
    setTimeout(() => stop.abort(), 20)
    expect(await next).toEqual({ done: true, value: undefined })
    expect((await project.follow({ signal: stop.signal }).next()).done).toBe(true)
  },
)

test('throws when the address is not that of the service', async () => {
  const page = open({ fetch: () => Promise.resolve(new Response('<html>')) })
  const { id } = await newProject()
  await expect(page.project(id).follow({ after: 0 }).next()).rejects.toMatchObject({ status: 200 })
})

test('closes the stream when the loop ends', async () => {
  const { project, id } = await newProject()
  for await (const { seq } of project.follow({ after: 0 })) if (seq === 1) break
  expect(service.services.subscriptions.countOf(id)).toBe(0)
})

test.each(['sse', 'poll'] as const)(
  'throws when the caller may not read the project any more, over %s',
  async (transport) => {
    const { id } = await newProject()
    const grace = await register(service.client, 'Grace')
    const { body: member } = await ada.post(`/projects/${id}/members/invite`, { email: grace.email })
    const items = open({ token: grace.token! }).project(id).follow({ after: 2, transport })
    const next = items.next()
    await ada.delete(`/projects/${id}/members/${member.id}`)
    await expect(next).rejects.toBeInstanceOf(NotFoundError)
    await expect(docket.project(id).follow({ after: 99 }).next()).rejects.toBeInstanceOf(BadRequestError)
  },
)
