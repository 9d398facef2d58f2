import { followByEventSource } from '../http/event-source.ts'
import { allPages, applyEvent, emptyReplica, forFile, freshEnv, make, openClient, register } from '../kit.ts'
import { spawnService } from '../kit.ts'
import type { Person, ServiceProcess } from '../kit.ts'

const env = await forFile(freshEnv())
const writing = await forFile(spawnService('web', env.env))
const ada = await register(openClient(writing.url), 'Ada')

test('clients that reconnect after their process was killed receive each event once and in order', async () => {
  const first = await spawnService('web', env.env)
  const port = new URL(first.url).port
  const ids: string[] = []
  for (let i = 0; i < 20; i++) ids.push((await make(ada, '/projects', { name: `P${i}` })).id)
  const followers = ids.map((id) => followByEventSource(first.url, ada.token!, id))
  const write = (title: string) =>
    Promise.all(ids.map((projectId) => make(ada, '/tasks', { title, projectId })))
  for (let i = 0; i < 5; i++) await write(`before ${i}`)
  await Promise.all(followers.map(({ until }) => until(2)))
  first.signal('SIGKILL')
  for (let i = 0; i < 5; i++) await write(`meanwhile ${i}`)
  await first.exited
  const second = await spawnService('web', { ...env.env, PORT: port })
  for (let i = 0; i < 5; i++) await write(`after ${i}`)
  await Promise.all(followers.map(({ until }) => until(16)))
  for (const [i, { events, close }] of followers.entries()) {
    close()
    expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: 16 }, (_, n) => n + 1))
    const model = emptyReplica()
    for (const event of events) applyEvent(model, event)
    const listed = (await allPages(ada, `/tasks?projectId=${ids[i]}`)).flat()
    expect([...model.task.values()]).toEqual(listed as unknown as Record<string, unknown>[])
  }
  await second.stop()
})

async function longPollDurations([writing, waiting]: [ServiceProcess, ServiceProcess]): Promise<number[]> {
  const ada: Person = await register(openClient(writing.url), 'Ada')
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  const durationsMs: number[] = []
  for (let seq = 1; seq <= 5; seq++) {
    const answer = ada.at(waiting.url).get(`/projects/${projectId}/events?after=${seq}&wait=25`)
    await Bun.sleep(100)
    const began = performance.now()
    const { id } = await make(ada, '/tasks', { title: 'Draw', projectId })
    const { body } = await answer
    durationsMs.push(performance.now() - began)
    expect(body.map((event) => (event as unknown as { entityId: string }).entityId)).toEqual([id])
  }
  return durationsMs
}

async function withTwo(more: Record<string, string>, use: typeof longPollDurations): Promise<number[]> {
  const both = await Promise.all([1, 2].map(() => spawnService('web', { ...env.env, ...more })))
  const [one, two] = both as [ServiceProcess, ServiceProcess]
  const durationsMs = await use([one, two])
  await Promise.all(both.map((one) => one.stop()))
  return durationsMs
}

test('a long poll in another process gets an event sooner than the next poll of the database', async () => {
  const durationsMs = await withTwo({}, longPollDurations)
  // Polling of the database alone would take up to two seconds for each event.
  expect(durationsMs.toSorted((a, b) => a - b)[2]).toBeLessThan(1_000)
})

test('without Redis, a long poll in another process gets events by polling the database', async () => {
  expect(await withTwo({ REDIS_URL: 'redis://127.0.0.1:1' }, longPollDurations)).toHaveLength(5)
})
