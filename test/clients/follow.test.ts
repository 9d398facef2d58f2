import { spyOn } from 'bun:test'
import { BadRequestError, NotFoundError } from '../../clients/typescript/src/errors.ts'
import type { FeedItem } from '../../clients/typescript/src/feed/follow.ts'
import { make, Random, upTo } from '../kit.ts'
import { openClientScene } from './scene.ts'

const { service, ada, docket, open, send, newProject, join } = await openClientScene({ HISTORY_DAYS: '30' })

/** Reads items until the version `seq`. */
async function readUntil(items: AsyncIterable<FeedItem>, seq: number): Promise<FeedItem[]> {
  const read: FeedItem[] = []
  for await (const item of items) {
    read.push(item)
    if (item.seq >= seq) return read
  }
  throw new Error('The feed ended early')
}

const seqs = (items: FeedItem[]) => items.map(({ seq }) => seq)
const snapshotAt = async (seq: number, { list }: Awaited<ReturnType<typeof newProject>>) =>
  expect.objectContaining({ type: 'snapshot', seq, tasks: await list() })
const addTasks = (projectId: string, count: number) =>
  docket.project(projectId).batch((b) => upTo(count).forEach((n) => void b.task.create({ title: `B${n}` })))

/** Returns a client whose n-th stream gets `answer(n)`, if it is a response. `onPoll` runs before each long poll. */
function openWithStreams(answer: (n: number) => Response | undefined, onPoll?: () => Promise<unknown>) {
  let streams = 0
  const client = open({
    async fetch(url, init) {
      const isStream = new Headers(init.headers).get('accept') === 'text/event-stream'
      const response = (isStream && answer(++streams)) || send(url, init)
      if (url.includes('wait=')) await onPoll?.()
      return response
    },
  })
  return { client, streams: () => streams }
}
const streamOf = (body: BodyInit) => new Response(body, { headers: { 'content-type': 'text/event-stream' } })

describe.each(['sse', 'poll'] as const)('over %s', (transport) => {
  test('yields every event once and in order, and leaves out the events of `exceptActor`', async () => {
    const { id, project } = await newProject()
    const bea = await join(id, 'Bea')
    const all = readUntil(project.follow({ after: 0, transport }), 404)
    const others = readUntil(project.follow({ after: 0, exceptActor: 'me', transport }), 404)
    await addTasks(id, 400)
    for (const title of ['First', 'Last']) await make(bea, '/tasks', { projectId: id, title })
    expect(seqs(await all)).toEqual(upTo(404))
    expect(seqs(await others)).toEqual([403, 404])
    expect((await all)[0]).toMatchObject({ type: 'project.created', after: { name: 'Engine' } })
  })

  test('begins again with a snapshot if the events have expired', async () => {
    const engine = await newProject(4)
    await service.services.database.reads`delete from events where project_id = ${engine.id} and seq < 4`
    const [first] = await readUntil(engine.project.follow({ after: 1, transport }), 5)
    expect(first).toEqual(await snapshotAt(5, engine))
  })

  test('ends without an error when the signal aborts', async () => {
    const { project } = await newProject()
    const stop = new AbortController()
    const next = project.follow({ after: 1, signal: stop.signal, transport }).next()
    setTimeout(() => stop.abort(), 20)
    expect(await next).toEqual({ done: true, value: undefined })
    expect((await project.follow({ signal: stop.signal }).next()).done).toBe(true)
  })

  test('throws when the caller may not read the project any more, or if `after` is ahead', async () => {
    const { id, project } = await newProject()
    const grace = await join(id, 'Grace')
    const next = grace.docket.project(id).follow({ after: 2, transport }).next()
    await grace.leave()
    await expect(next).rejects.toBeInstanceOf(NotFoundError)
    await expect(project.follow({ after: 99 }).next()).rejects.toBeInstanceOf(BadRequestError)
  })
})

test('a mirror and follow over every transport continue after lost, broken and cut responses', async () => {
  const jitter = spyOn(Math, 'random').mockReturnValue(0)
  const random = new Random(1)
  const cut = (response: Response) => {
    let left = random.below(4_000)
    const transform = (chunk: Uint8Array, to: TransformStreamDefaultController) => {
      to.enqueue(chunk.slice(0, left))
      left -= chunk.length
      if (left <= 0) to.error(new Error('The connection broke'))
    }
    return new Response(response.body!.pipeThrough(new TransformStream({ transform })), response)
  }
  let broken = 0
  const flaky = open({
    async fetch(url, init) {
      if (random.chance(0.2)) throw new TypeError(`The connection ${++broken} was lost`)
      const response = await send(url, init)
      if (random.chance(0.2)) return new Response(`Bad gateway ${++broken}`, { status: 502 })
      return response.headers.get('content-type') === 'text/event-stream' ? cut(response) : response
    },
  })
  const { id, list } = await newProject()
  const stop = new AbortController()
  const mirror = flaky.project(id).mirror({ signal: stop.signal })
  const logs = [{}, { transport: 'sse' }, { transport: 'poll' }] as const
  const read = logs.map((given) => readUntil(flaky.project(id).follow({ after: 0, ...given }), 61))
  for (const n of upTo(60)) await docket.tasks.create({ projectId: id, title: `T${n}` })
  for (const items of read) expect(seqs(await items)).toEqual(upTo(61))
  await mirror.reach(61)
  expect([...mirror.values()]).toEqual(await list())
  expect(broken).toBeGreaterThan(10)
  stop.abort()
  jitter.mockRestore()
})

test.each([
  ['are rejected', () => new Response('<h1>Forbidden</h1>', { status: 403 })],
  ['return an HTML page', () => new Response('<h1>Hello</h1>')],
  ['end at once', () => streamOf('')],
])('uses long polls if streams %s', async (_, answer) => {
  const { id } = await newProject(1)
  const { client, streams } = openWithStreams(answer, () => addTasks(id, 1))
  expect(seqs(await readUntil(client.project(id).follow({ after: 2 }), 5))).toEqual([3, 4, 5])
  expect(streams()).toBe(2)
})

test('reads events byte by byte, ignores repeated events, and reads the events that a stream has omitted', async () => {
  const { id } = await newProject()
  await docket.tasks.create({ projectId: id, title: 'Größe 🧭' })
  await addTasks(id, 2)
  const { body: events } = await ada.get(`/projects/${id}/events`)
  const messages = [1, 2, 2, 1, 4].map((seq) => `data: ${JSON.stringify(events[seq - 1])}\r\n\r\n`)
  const bytes = new TextEncoder().encode(`retry: 1700\n\n: nothing new\n\n${messages.join('')}`)
  const body = new ReadableStream({
    start(controller) {
      // The stream stays open, so the client must notice the missing event itself.
      for (const byte of bytes) controller.enqueue(Uint8Array.of(byte))
    },
  })
  const { client, streams } = openWithStreams((n) => (n === 1 ? streamOf(body) : undefined))
  const read = await readUntil(client.project(id).follow({ after: 0 }), 4)
  expect([read, streams()]).toEqual([[...events] as never[], 1])
}, 20_000)

test('by default begins with new events; with `snapshot: true`, with the tasks', async () => {
  const engine = await newProject(2)
  const [fromNow, fromSnapshot] = [engine.project.follow(), engine.project.follow({ snapshot: true })]
  const [first] = await readUntil(fromSnapshot, 3)
  expect(first).toEqual(await snapshotAt(3, engine))
  expect(first).toMatchObject({ labels: [], fields: [] })
  await addTasks(engine.id, 1)
  expect((await fromNow.next()).value).toMatchObject({ type: 'task.created', seq: 4 })
})

test('yields whole snapshots, also if streams break before the end of their snapshot', async () => {
  const engine = await newProject()
  await addTasks(engine.id, 450)
  const part = 'event: snapshot\ndata: {"version":2,"kind":"tasks","rows":[{}]}\n\n'
  const { client } = openWithStreams((n) => (n === 1 ? streamOf(part) : undefined))
  const items = client.project(engine.id).follow({ snapshot: true, transport: 'sse' })
  expect((await readUntil(items, 451))[0]).toEqual(await snapshotAt(451, engine))
})

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
  await addTasks(id, 1)
  expect((await next).value).toMatchObject({ type: 'task.created', seq: 3 })
  await items.return()
})

test('throws when the address is not that of the service', async () => {
  const page = open({ fetch: () => Promise.resolve(new Response('<html>')) })
  await expect(page.project('p').follow({ after: 0 }).next()).rejects.toMatchObject({ status: 200 })
})

test('closes the stream when the loop ends', async () => {
  const { project, id } = await newProject()
  for await (const { seq } of project.follow({ after: 0 })) if (seq === 1) break
  expect(service.services.subscriptions.countOf(id)).toBe(0)
})
