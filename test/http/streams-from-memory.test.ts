import { forFile, invite, make, openScene, openStreamIn, openTestService, Random } from '../kit.ts'
import { register, streamBodyIn, takeEvents, upTo, versionOf } from '../kit.ts'
import type { Client, Person } from '../kit.ts'
import { startRandomWrites, writeRandomly } from '../past/random-writes.ts'

/** The types of the events that streams read from memory instead of the database. */
const typesFromMemory = new Set<string>()
const { service } = await openScene()
const other = await forFile(openTestService(service.env))
const { recent, counts } = service.services
// A pause of the process must not let events expire.
recent['recent'].ttl = 60_000
const { after } = recent
recent.after = (range) => {
  const events = after.call(recent, range)
  for (const { type } of events ?? []) typesFromMemory.add(type)
  return events
}
const ada = await register(service.client, 'Ada "the first"\\ — ä')

/** A project with a task, and with Grace as a member: events 1 to 3. */
async function openShared() {
  const grace = await register(service.client)
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  const { id: memberId } = await invite(ada, projectId, grace)
  const task = await make(ada, '/tasks', { title: 'Wheel', projectId })
  return { grace, projectId, memberId, task }
}
const create = (projectId: string, title: string, by: Client = ada) =>
  make(by, '/tasks', { title, projectId })

async function openTextStream(reader: Person, projectId: string) {
  const stream = await streamBodyIn(service, reader, `/projects/${projectId}/events?after=0`)
  const chunks = stream.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  return {
    async eventsUpTo(version: number): Promise<string[]> {
      while (!text.includes(`\nid: ${version}\nevent: `)) {
        const { value, done } = await chunks.read()
        if (done) throw new Error(`The stream ended: ${text.slice(-500)}`)
        text += value
      }
      return text.split('\n\n').flatMap((message) => /\ndata: (.*)$/s.exec(message)?.[1] ?? [])
    },
    async textToEnd(): Promise<string> {
      for (let chunk = await chunks.read(); !chunk.done; chunk = await chunks.read()) text += chunk.value
      return text
    },
    stop: () => chunks.cancel(),
  }
}

test('events sent from memory have exactly the bytes that the feed returns', async () => {
  const [grace, bea] = [await register(service.client), await register(service.client)]
  const world = await startRandomWrites(new Random(11), [ada, grace, bea])
  const projects = world.projects.map(({ id }) => id)
  const streams = await Promise.all(projects.map((id) => openTextStream(ada, id)))
  const streamed: string[][] = projects.map(() => [])
  const fed: string[][] = projects.map(() => [])
  for (let wave = 0; wave < 30; wave++) {
    await writeRandomly(world, 12)
    await ada.patch(`/tasks/subtasks/${world.subtasks.at(-1)?.id}`, { title: `"\\ — ü ${wave}` })
    for (const [n, id] of projects.entries()) {
      const version = await versionOf(ada, id)
      const before = streamed[n]!.length
      streamed[n] = await streams[n]!.eventsUpTo(version)
      const page = await ada.get(`/projects/${id}/events?after=${before}&limit=500`)
      if (page.text !== '[]') fed[n]!.push(page.text.slice(1, -1))
      expect(streamed[n]!.join()).toBe(fed[n]!.join())
    }
    if (wave % 5 === 4) await grace.patch('/auth/me', { name: `Grace the ${wave}th, “ünnamed”` })
  }
  for (const { stop } of streams) await stop()
  const kinds = ['task', 'subtask', 'comment', 'label', 'field', 'view']
  const read = new Set([...typesFromMemory].map((type) => type.split('.')[0]!))
  expect([kinds.filter((kind) => !read.has(kind)), typesFromMemory.has('task.moved_in')]).toEqual([[], false])
})

test('a removed member gets no later event, no matter which process removed the member', async () => {
  const { grace, projectId, memberId } = await openShared()
  let [id, remover]: [string, Client] = [memberId, ada]
  for (const next of [other.client.as(ada.token), undefined]) {
    const stream = await openTextStream(grace, projectId)
    await create(projectId, 'Before')
    await stream.eventsUpTo(await versionOf(ada, projectId))
    typesFromMemory.clear()
    const last = await create(projectId, 'Also before')
    await stream.eventsUpTo(await versionOf(ada, projectId))
    expect([...typesFromMemory]).toEqual(['task.created'])
    expect((await remover.delete(`/projects/${projectId}/members/${id}`)).status).toBe(200)
    const secret = await create(projectId, 'After')
    const text = await stream.textToEnd()
    expect(text).toContain(last.id)
    expect(text).not.toContain(secret.id)
    expect(text).toContain('event: end\ndata: {"statusCode":404')
    if (next) [id, remover] = [(await invite(ada, projectId, grace)).id, next]
  }
})

const rounds = 10

/** Opens 40 streams of one project. Returns how many queries ten writes cost, with the events that the streams send. */
async function queriesOf(writer: Client): Promise<number> {
  const { grace, projectId } = await openShared()
  const all = []
  for (const n of upTo(40)) all.push(await openStreamIn(service, n % 2 ? ada : grace, projectId))
  const before = counts.queries.reads.total
  for (const round of upTo(rounds)) {
    const received = Promise.all(all.map((messages) => takeEvents(messages, 1)))
    await create(projectId, `T${round}`, writer)
    for (const [event] of await received) expect(event).toMatchObject({ id: String(round + 3) })
  }
  const { total } = counts.queries.reads
  for (const messages of all) await messages.return()
  return total - before
}

test('an event is read and authorized once for all streams of an account, or not at all if this process wrote it', async () => {
  expect(await queriesOf(other.client.as(ada.token))).toBeLessThan(10 * rounds)
  expect(await queriesOf(ada)).toBeLessThan(2 * rounds)
})

test('a cached read ends when its row changes or moves, and when its reader is removed between other writes', async () => {
  const { grace, projectId, memberId, task } = await openShared()
  const axle = await create(projectId, 'Axle')
  const { id: elsewhere } = await make(ada, '/projects', { name: 'Mill' })
  const reads = [`/tasks/${task.id}`, `/tasks?projectId=${projectId}`, `/projects/${projectId}`]
  const rename = (id: string, title: string) => ada.patch(`/tasks/${id}`, { title })
  for (const title of ['Cog', 'Gear']) {
    await rename(task.id, title)
    for (const person of [ada, grace]) {
      expect((await person.get(reads[0]!)).body).toMatchObject({ title })
      expect((await person.get(reads[1]!)).body).toMatchObject([{ title }, { title: 'Axle' }])
    }
  }
  await rename(axle.id, 'Shaft')
  await ada.patch(`/tasks/${task.id}`, { projectId: elsewhere })
  await rename(axle.id, 'Rod')
  expect((await ada.get(reads[0]!)).body).toMatchObject({ projectId: elsewhere })
  expect((await grace.get(reads[0]!)).status).toBe(404)
  await ada.patch(`/tasks/${task.id}`, { projectId })
  for (const path of reads) expect((await grace.get(path)).status).toBe(200)
  await rename(axle.id, 'Shaft')
  expect((await ada.delete(`/projects/${projectId}/members/${memberId}`)).status).toBe(200)
  await rename(axle.id, 'Rod')
  for (const path of reads) expect([path, (await grace.get(path)).status]).toEqual([path, 404])
})
