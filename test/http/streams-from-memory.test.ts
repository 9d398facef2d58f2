import { invite, make, model, openScene, openTestService, Random, register, streamBodyIn } from '../kit.ts'
import { versionOf } from '../kit.ts'
import type { Person } from '../kit.ts'
import { startRandomWrites, writeRandomly } from '../past/random-writes.ts'

/** The types of the events that streams read from memory instead of the database. */
const typesFromMemory = new Set<string>()
const { service } = await openScene()
const { recent } = service.services
// A pause of the process must not let events expire.
recent['recent'].ttl = 60_000
const { after } = recent
recent.after = (range) => {
  const events = after.call(recent, range)
  for (const { type } of events ?? []) typesFromMemory.add(type)
  return events
}

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

/** Creates, changes and deletes a row of each kind. */
async function writeEveryKind(ada: Person, projectId: string): Promise<void> {
  const { id } = await make(ada, '/tasks', { projectId, title: 'T' })
  const rows: [list: string, path: string, body: object, change: object][] = [
    [`/tasks/${id}/subtasks`, '/tasks/subtasks', { title: 'S' }, { title: 'U' }],
    [`/tasks/${id}/comments`, '/tasks/comments', { text: 'C' }, { text: 'D' }],
    [`/projects/${projectId}/labels`, '/labels', { name: 'every kind' }, { name: 'each kind' }],
    [
      `/projects/${projectId}/fields`,
      '/fields',
      { key: 'every_kind', name: 'F', type: 'text' },
      { name: 'G' },
    ],
    [`/projects/${projectId}/views`, '/views', { name: 'V', query: {} }, { name: 'W' }],
  ]
  for (const [list, path, body, change] of rows) {
    const row = `${path}/${(await make(ada, list, body)).id}`
    if (path.endsWith('subtasks')) await ada.patch(`${row}/toggle`)
    expect((await ada.patch(row, change)).status).toBe(200)
    expect((await ada.delete(row)).status).toBe(200)
  }
  await ada.post(`/tasks/${id}/claim`, { leaseSeconds: 60 })
  await ada.post(`/tasks/${id}/release`)
  await ada.delete(`/tasks/${id}`)
}

test('events sent from memory have exactly the bytes that the feed returns', async () => {
  const ada = await register(service.client, 'Ada "the first"\\ — ä')
  const [grace, bea] = [await register(service.client), await register(service.client)]
  const world = await startRandomWrites(new Random(11), [ada, grace, bea])
  const projects = world.projects.map(({ id }) => id)
  const streams = await Promise.all(projects.map((id) => openTextStream(ada, id)))
  const streamed: string[][] = projects.map(() => [])
  const fed: string[][] = projects.map(() => [])
  for (let wave = 0; wave < 30; wave++) {
    await writeRandomly(world, 12)
    if (wave === 10) await writeEveryKind(ada, projects[0]!)
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
  // These events are not read from memory: a moved task needs its children, and workers write the others.
  const expected = model.eventTypes.filter(
    (type) =>
      /^(task|subtask|comment|label|field|view)\./.test(type) &&
      !/moved_in|unassigned|claim_expired|reminded|due|ready/.test(type),
  )
  expect([...typesFromMemory].sort()).toEqual(expected.sort())
})

test('a removed member gets no later event, no matter which process removed the member', async () => {
  await using other = await openTestService(service.env)
  const [ada, grace] = [await register(service.client), await register(service.client)]
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  for (const remover of [ada, other.client.as(ada.token)]) {
    const member = await invite(ada, projectId, grace)
    const stream = await openTextStream(grace, projectId)
    await make(ada, '/tasks', { title: 'Before', projectId })
    await stream.eventsUpTo(await versionOf(ada, projectId))
    typesFromMemory.clear()
    const last = await make(ada, '/tasks', { title: 'Also before', projectId })
    await stream.eventsUpTo(await versionOf(ada, projectId))
    expect([...typesFromMemory]).toEqual(['task.created'])
    expect((await remover.delete(`/projects/${projectId}/members/${member.id}`)).status).toBe(200)
    const secret = await make(ada, '/tasks', { title: 'After', projectId })
    const text = await stream.textToEnd()
    expect(text).toContain(last.id)
    expect(text).not.toContain(secret.id)
    expect(text).toContain('event: end\ndata: {"statusCode":404')
  }
})
