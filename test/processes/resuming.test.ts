import { expect, test } from 'bun:test'
import { followByEventSource } from '../http/event-source.ts'
import { apply, emptyModel } from '../http/feed.ts'
import { walk } from '../http/walk.ts'
import { make, openClient, register } from '../support/client.ts'
import { forFile, freshEnv, spawnService } from '../support/service.ts'

const env = await forFile(freshEnv())
const writing = await forFile(spawnService('web', env.env))
const ada = await register(openClient(writing.url), 'Ada')

test('clients whose process is killed come back and have seen all, once and in order', async () => {
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
  for (const [i, { seen, close }] of followers.entries()) {
    close()
    expect(seen.map(({ seq }) => seq)).toEqual(Array.from({ length: 16 }, (_, n) => n + 1))
    const model = emptyModel()
    for (const event of seen) apply(model, event)
    const listed = (await walk(ada, `/tasks?projectId=${ids[i]}`)).flat()
    expect([...model.task.values()]).toEqual(listed as unknown as Record<string, unknown>[])
  }
  await second.stop()
})
