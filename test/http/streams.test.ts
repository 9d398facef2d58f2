import { setTimeout as sleep } from 'node:timers/promises'
import { eventually, forFile, invite, make, openClient, openPair, openStream } from '../kit.ts'
import { openWebProcess, register, spawnService, takeEvents, upTo } from '../kit.ts'
import type { Message, Person, ServiceProcess } from '../kit.ts'
import { startOnOwnPort } from '../support/own-port.ts'
import { scrape } from '../metrics/scrape.ts'

const { a: one, b: other, atA: ada, env } = await openPair()

const openProject = async () => (await make(ada, '/projects', { name: 'Engine' })).id
const addTask = (projectId: string) => make(ada, '/tasks', { title: 'Draw', projectId })
const seqsOf = (messages: Message[]) => messages.map(({ id }) => Number(id))

test('a stream sends the events of another process once and in order', async () => {
  const projectId = await openProject()
  const { answer, messages, stop } = await openStream(ada, other, `/projects/${projectId}/events?after=0`)
  const headers = ['content-type', 'x-accel-buffering'].map((name) => answer.headers.get(name))
  expect(headers).toEqual(['text/event-stream', 'no'])
  const { value: first } = await messages.next()
  expect(first).toMatchObject({ retry: expect.stringMatching(/^\d+$/), id: '0' })
  expect(await takeEvents(messages, 1)).toMatchObject([
    { id: '1', event: 'project.created', data: { seq: 1 } },
  ])
  for (const _ of upTo(150)) await addTask(projectId)
  expect(seqsOf(await takeEvents(messages, 150))).toEqual(upTo(151).slice(1))
  stop()
})

test('a stream starts after the newest event, or after Last-Event-ID', async () => {
  const projectId = await openProject()
  for (let i = 0; i < 3; i++) await addTask(projectId)
  const path = `/projects/${projectId}/events`
  const now = await openStream(ada, other, path)
  await now.messages.next()
  const resumed = await openStream(ada, other, `${path}?after=1`, { 'last-event-id': '3' })
  await addTask(projectId)
  expect(seqsOf(await takeEvents(now.messages, 1))).toEqual([5])
  expect(seqsOf(await takeEvents(resumed.messages, 2))).toEqual([4, 5])
  for (const { stop } of [now, resumed]) stop()
})

test('a stream with a type filter sends no events of other types', async () => {
  const projectId = await openProject()
  const path = `/projects/${projectId}/events?after=0&types=task.updated`
  const { messages, stop } = await openStream(ada, other, path)
  const task = await addTask(projectId)
  await ada.patch(`/tasks/${task.id}`, { status: 'DONE' })
  expect(await takeEvents(messages, 1)).toMatchObject([{ id: '3', event: 'task.updated' }])
  stop()
})

test('a stream ends with the reason when its reader is removed or signs out, or its project is deleted', async () => {
  const projectId = await openProject()
  const grace = await register(openClient(one.url), 'Grace')
  const member = await invite(ada, projectId, grace)
  const bea = await register(openClient(one.url), 'Bea')
  await invite(ada, projectId, bea)
  const path = `/projects/${projectId}/events`
  const ofGrace = await openStream(grace, other, path)
  const ofAda = await openStream(ada, other, path)
  const ofBea = await openStream(bea, one, path)
  await ofBea.messages.next()
  await bea.post('/auth/logout')
  await ada.delete(`/projects/${projectId}/members/${member.id}`)
  expect(await takeEvents(ofGrace.messages, 9)).toMatchObject([{ event: 'end', data: { statusCode: 404 } }])
  expect(await takeEvents(ofBea.messages, 9)).toMatchObject([{ event: 'end', data: { statusCode: 401 } }])
  await ada.delete(`/projects/${projectId}`)
  expect((await takeEvents(ofAda.messages, 9)).at(-1)).toMatchObject({ event: 'end' })
})

test('a closed stream no longer counts toward the limit of streams, and HEAD never counts', async () => {
  const own = await openWebProcess({ SUBSCRIBERS_PER_ACCOUNT: '3' })
  const { web, ada: bea } = own
  const ofProject = `/projects/${(await make(bea, '/projects', { name: 'Engine' })).id}/events`
  for (const path of [ofProject, '/events', ofProject, '/events']) {
    const streams = await openAll(bea, web, path)
    expect((await bea.call('HEAD', path)).status).toBe(200)
    const { answer } = await openStream(bea, web, path)
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '1'])
    for (const { stop } of streams) stop()
  }
})

/** Opens as many streams as one account may have. Retries, because the service may notice closed streams late. */
async function openAll(client: Person, at: ServiceProcess, path: string) {
  for (;;) {
    const streams = await Promise.all([1, 2, 3].map(() => openStream(client, at, path)))
    if (streams.every(({ answer }) => answer.status === 200)) return streams
    for (const { stop } of streams) stop()
    await sleep(20)
  }
}

test('while Postgres is unavailable, a stream starts with 200 and ends immediately, because EventSource does not reconnect after 503', async () => {
  const projectId = await openProject()
  const away = await spawnService('web', { ...env, DATABASE_URL: 'postgres://docket@127.0.0.1:1/docket' })
  for (const path of ['/events', `/projects/${projectId}/events`]) {
    const { answer, messages } = await openStream(ada, away, path)
    expect([path, answer.status]).toEqual([path, 200])
    const last = await takeEvents(messages, 9)
    expect(last).toMatchObject([{ event: 'end', retry: expect.any(String), data: { statusCode: 503 } }])
  }
  expect((await ada.at(away.url).get(`/projects/${projectId}/events`)).status).toBe(503)
  expect((await ada.at(away.url).get(`/projects`, { accept: 'text/event-stream' })).status).toBe(503)
  await away.stop()
})

test('a stopping process ends its streams first, with retry times spread over seconds', async () => {
  const { started: stopping, port } = await startOnOwnPort((port) =>
    forFile(spawnService('web', { ...env, METRICS_PORT: String(port) })),
  )
  const [id, atOther] = [await openProject(), ada.at(stopping.url)]
  const paths = ['/events', `/projects/${id}/events`]
  const streams = await Promise.all(
    Array.from({ length: 40 }, (_, n) => openStream(ada, stopping, paths[n % 2]!)),
  )
  for (const { messages } of streams) await messages.next()
  const waiting = paths.map((_, n) =>
    n
      ? atOther.get(`${paths[1]}?after=1&wait=25`)
      : atOther.post('/events/read', { after: { [id]: 1 }, wait: 25 }),
  )
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
