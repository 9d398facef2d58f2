import { afterEach, expect, test } from 'bun:test'
import { eventually, upTo } from '../races/pair.ts'
import { readFeed } from '../http/feed.ts'
import { verified } from './receiver.ts'
import { openScene, type Scene } from './scene.ts'

let scene: Scene
afterEach(() => scene.close())

test('every event comes once, in order and as the feed shows it, each delivery signed', async () => {
  scene = await openScene()
  const { ada, projectId, receiver } = scene
  const { secret } = await scene.hook()
  await scene.work(30)
  await eventually('all events', () => receiver.seqs().length >= 30)
  expect(receiver.seqs()).toEqual(upTo(31).slice(1))
  const feed = await readFeed(ada, `/projects/${projectId}/events?after=1`)
  expect(receiver.received.flatMap(({ body }) => body.data.events)).toEqual(feed as never)
  for (const one of receiver.received) {
    expect(verified(secret, one)).toEqual(one.body)
    const last = one.body.data.events.at(-1) as unknown as { at: string }
    expect(one.body).toMatchObject({ type: 'events', timestamp: last.at, data: { projectId } })
    expect(one.headers['content-type']).toBe('application/json')
  }
  const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
  expect(new Set(ids).size).toBe(ids.length)
})
