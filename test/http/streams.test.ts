import { setTimeout as sleep } from 'node:timers/promises'
import { eventually, forFile, invite, make, openClient, openPair, openStream } from '../kit.ts'
import { openWebProcess, register, spawnService, takeEvents, upTo, withToken } from '../kit.ts'
import type { Message, Person } from '../kit.ts'
import { startOnOwnPort } from '../support/own-port.ts'
import { scrape } from '../metrics/scrape.ts'

const { a: one, b: other, atA: ada, env, sql } = await openPair()
// Without Redis this process gets no notifications, so it polls Postgres.
const polling = await forFile(spawnService('web', { ...env, REDIS_URL: 'redis://127.0.0.1:1' }))
const processes = Object.entries({ 'with notifications': other, 'without Redis': polling })

const newPerson = (name = 'Ada') => register(openClient(one.url), name)
const openProject = async (by: Person = ada) => (await make(by, '/projects', { name: 'Engine' })).id
const addTask = (projectId: string, by: Person) => make(by, '/tasks', { title: 'Draw', projectId })
const eventsPath = (projectId: string, query = '') => `/projects/${projectId}/events${query}`
const stop = (...streams: { stop(): void }[]) => streams.forEach((stream) => stream.stop())

test('a closed stream no longer counts toward the limit of streams, and HEAD never counts', async () => {
  const { web, ada: bea } = await openWebProcess({ SUBSCRIBERS_PER_ACCOUNT: '3' })
  /** Opens as many streams as one account may have. Repeats, because the service may notice closed streams late. */
  const openAll = async (path: string) => {
    for (;;) {
      const streams = await Promise.all(upTo(3).map(() => openStream(bea, web, path)))
      if (streams.every(({ answer }) => answer.status === 200)) return streams
      stop(...streams)
      await sleep(20)
    }
  }
  const ofProject = eventsPath(await openProject(bea))
  for (const path of [ofProject, '/events', ofProject, '/events']) {
    const streams = await openAll(path)
    expect((await bea.call('HEAD', path)).status).toBe(200)
    const { answer } = await openStream(bea, web, path)
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '1'])
    stop(...streams)
  }
})

test('while Postgres is unavailable, a stream starts with 200 and ends immediately, because EventSource does not reconnect after 503', async () => {
  const path = eventsPath(await openProject())
  const away = await spawnService('web', { ...env, DATABASE_URL: 'postgres://docket@127.0.0.1:1/docket' })
  for (const one of ['/events', path]) {
    const { answer, messages } = await openStream(ada, away, one)
    expect([one, answer.status]).toEqual([one, 200])
    const last = await takeEvents(messages, 9)
    expect(last).toMatchObject([{ event: 'end', retry: expect.any(String), data: { statusCode: 503 } }])
  }
  expect((await ada.at(away.url).get(path)).status).toBe(503)
  expect((await ada.at(away.url).get(`/projects`, { accept: 'text/event-stream' })).status).toBe(503)
  await away.stop()
})

test('a stopping process ends its streams first, with retry times spread over seconds', async () => {
  const { started: stopping, port } = await startOnOwnPort((port) =>
    forFile(spawnService('web', { ...env, METRICS_PORT: String(port) })),
  )
  const [id, there] = [await openProject(), ada.at(stopping.url)]
  const paths = ['/events', eventsPath(id)]
  const streams = await Promise.all(upTo(40).map((n) => openStream(ada, stopping, paths[n % 2]!)))
  for (const { messages } of streams) await messages.next()
  const waiting = [
    there.post('/events/read', { after: { [id]: 1 }, wait: 25 }),
    there.get(eventsPath(id, '?after=1&wait=25')),
  ]
  const open = async () => (await scrape(port)).of('docket_followers_open')
  await eventually('the long polls', async () => (await open()) === streams.length + waiting.length)
  const ends = streams.map(({ messages }) => takeEvents(messages, 9))
  const stopped = stopping.stop()
  const last = (await Promise.all(ends)).map((messages) => messages.at(-1))
  for (const end of last) expect(end).toMatchObject({ event: 'end', data: { statusCode: 503 } })
  const retries = last.map((end) => Number(end?.retry))
  const [shortest, longest] = [Math.min(...retries), Math.max(...retries)]
  for (const bound of [shortest, longest]) expect(bound).toBeWithin(500, 3_001)
  expect(longest - shortest).toBeGreaterThan(1_000)
  for (const answer of await Promise.all(waiting)) expect(answer.status).toBe(200)
  expect(await stopped).toBe(0)
})

type State = Record<string, number | null>

/** Reads messages of a stream of all projects until the versions are the expected. Returns the changes. */
async function until(messages: AsyncGenerator<Message, void, void>, state: State, expected: State) {
  const changes: State[] = []
  while (!Bun.deepEquals(state, expected)) {
    const { value, done } = await messages.next()
    if (done || value?.event === 'end') throw new Error(`the stream ended:  ${JSON.stringify(value)}`)
    if (!value?.data) continue
    const { projectId, version } = value.data as unknown as { projectId: string; version: number | null }
    state[projectId] = version
    changes.push({ [projectId]: version })
  }
  return changes
}

test.each(processes)(
  'the stream of all projects sends their versions, then every change, new project and removal, %s',
  async (_, at) => {
    const [bea, grace] = [await newPerson('Bea'), await newPerson('Grace')]
    const [own, shared] = [await openProject(bea), await openProject(grace)]
    await addTask(own, bea)
    const hers = await openStream(grace, at, '/events')
    const { answer, messages, stop } = await openStream(bea, at, '/events')
    const headers = ['content-type', 'x-accel-buffering'].map((name) => answer.headers.get(name))
    expect(headers).toEqual(['text/event-stream', 'no'])
    expect((await messages.next()).value).toEqual({ retry: expect.stringMatching(/^\d+$/) })
    // Messages have no event name, so that EventSource delivers them to onmessage.
    expect((await messages.next()).value).toEqual({ data: { projectId: own, version: 2 } as never })

    const state: State = { [own]: 2 }
    await addTask(own, bea)
    await until(messages, state, { [own]: 3 })
    const created = await openProject(bea)
    await until(messages, state, { [own]: 3, [created]: 1 })
    const member = await invite(grace, shared, bea)
    await until(messages, state, { [own]: 3, [created]: 1, [shared]: 2 })
    await addTask(shared, grace)
    await until(messages, state, { [own]: 3, [created]: 1, [shared]: 3 })
    await grace.delete(`/projects/${shared}/members/${member.id}`)
    await until(messages, state, { [own]: 3, [created]: 1, [shared]: null })
    // Bea is no longer a member, so her stream must not send this event.
    await addTask(shared, grace)
    await bea.delete(`/projects/${created}`)
    await until(messages, state, { [own]: 3, [created]: null, [shared]: null })
    await invite(grace, shared, bea)
    await until(messages, state, { [own]: 3, [created]: null, [shared]: 6 })
    stop()
    await until(hers.messages, {}, { [shared]: 6 })
    hers.stop()
  },
)

test('a bound API token gets only its own project, in the stream and when it reads events', async () => {
  const bea = await newPerson('Bea')
  const [mine, second] = [await openProject(bea), await openProject(bea)]
  const bound = await withToken(bea, { scopes: ['read'], projects: [mine] })
  const all = await openStream(bea, other, '/events')
  const own = await openStream(bound, other, '/events')
  for (const id of [second, mine]) await addTask(id, bea)
  // Waits until the stream of the unbound token has received the event of the other project.
  await until(all.messages, {}, { [mine]: 2, [second]: 2 })
  const changes = await until(own.messages, {}, { [mine]: 2 })
  expect(changes.flatMap((one) => Object.keys(one))).not.toContain(second)
  stop(all, own)
  const { body } = await bound.post('/events/read', { after: { [mine]: 1, [second]: 1 } })
  expect(body).toMatchObject({ after: { [mine]: 2 }, gone: [second] } as object)
})

/** Inserts projects with ids that sort before the ids of the service, and returns their ids. */
async function insertProjects(owner: Person, count: number): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    insert into projects (id, owner_id, name, created_at, event_id)
    select ('019a' || substr(${owner.id}, 5, 9) || '-7000-8000-' || lpad(n::text, 12, '0'))::uuid, ${owner.id}, 'Old', now(), uuidv7()
    from generate_series(1, ${count}::int) n returning id`
  await sql`insert into streams (project_id, version, last_number, last_event_id)
    select id, 1, 0, event_id from projects where owner_id = ${owner.id}`
  return rows.map(({ id }) => id).sort()
}

const nextPath = ({ headers }: { headers: Headers }) =>
  /^<\/api\/v1(\/events\?afterProject=[\w-]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1]

test.each(processes)(
  'a member of 1,001 projects reaches each of them by pages, and a token of the newest gets only this one, %s',
  async (_, at) => {
    // The ids of Grace's projects sort before those of Bea's.
    const [grace, bea] = [await newPerson('Grace'), await newPerson('Bea')]
    const old = await insertProjects(bea, 1_000)
    const first = await openStream(bea, at, '/events')
    expect(first.answer.headers.get('link')).toBeNull()
    const newest = await openProject(bea)
    let more: Message | undefined
    const told = new Set<string>()
    while (more?.event !== 'more') {
      more = (await first.messages.next()).value!
      if (more.event !== 'more' && more.data)
        told.add((more.data as unknown as { projectId: string }).projectId)
    }
    expect([[...told].sort(), more.data as unknown]).toEqual([old, { told: 1_000, last: old.at(-1)! }])

    const again = await openStream(bea, at, '/events')
    expect(nextPath(again.answer)).toBe(`/events?afterProject=${old.at(-1)}`)
    const head = await bea.at(at.url).call('HEAD', '/events', undefined, { accept: 'text/event-stream' })
    expect(nextPath(head)).toBe(nextPath(again.answer)!)
    const second = await openStream(bea, at, nextPath(again.answer)!)
    expect(second.answer.headers.get('link')).toBeNull()
    const token = await withToken(bea, { scopes: ['read'], projects: [newest] })
    const bound = await openStream(token, at, '/events')
    for (const { messages } of [second, bound])
      expect(await until(messages, {}, { [newest]: 1 })).toHaveLength(1)

    await addTask(newest, bea)
    await addTask(old[0]!, bea)
    for (const { messages } of [second, bound])
      expect(await until(messages, {}, { [newest]: 2 })).toHaveLength(1)
    expect(await until(first.messages, {}, { [old[0]!]: 2 })).toHaveLength(1)
    // A project within the range of the first page is sent to the first page, although this page is full.
    const [older] = await insertProjects(grace, 1)
    await invite(grace, older!, bea)
    await until(first.messages, {}, { [older!]: 2 })
    await addTask(old[0]!, bea)
    await until(first.messages, {}, { [old[0]!]: 3 })
    stop(first, again, second, bound)
  },
)

test('with `exceptActor`, the stream of all projects leaves out a project whose new versions are all by the actor', async () => {
  const [ofAda, ofBea] = [await newPerson('Ada'), await newPerson('Bea')]
  const openShared = async () => {
    const id = await openProject(ofAda)
    await invite(ofAda, id, ofBea, 'EDITOR')
    return id
  }
  const [first, second] = [await openShared(), await openShared()]
  const streams = [
    await openStream(ofAda, other, '/events?exceptActor=me'),
    await openStream(ofBea, other, `/events?exceptActor=${ofAda.id}`),
  ] as const
  for (const { messages } of streams) await until(messages, {}, { [first]: 2, [second]: 2 })
  for (const _ of upTo(3)) await addTask(first, ofAda)
  await openProject(ofAda)
  await addTask(second, ofBea)
  for (const { messages } of streams) expect(await until(messages, {}, { [second]: 3 })).toHaveLength(1)
  // The stream sends the version of another account together with the omitted versions before it.
  await addTask(first, ofBea)
  await until(streams[0].messages, {}, { [first]: 6 })
  // A project that becomes visible is always sent, because its members must learn about it.
  const visible = await openShared()
  await until(streams[1].messages, { [first]: 6 }, { [first]: 6, [visible]: 2 })
  await ofAda.delete(`/projects/${visible}`)
  await until(streams[1].messages, {}, { [visible]: null })
  stop(...streams)
})
