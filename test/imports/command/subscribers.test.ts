import { eventually, newId, readFeed } from '../../kit.ts'
import { openWebhooks } from '../../webhooks/scene.ts'
import { openImport, taskOf } from './scene.ts'

const openScene = await openWebhooks()

test('feed, webhooks, history and search contain the rows of a batch', async () => {
  await using scene = await openScene()
  const { ada, projectId, receiver, service } = scene
  await scene.hook()
  const run = openImport(service, projectId, { userId: ada.id })
  const { batch, results } = await run(Array.from({ length: 150 }, (_, n) => taskOf(`T${n}`)))
  const taskId = results[0]!.id
  const origin = { createdAt: '2019-05-04T03:02:01.000Z', importedAuthor: 'Grace Hopper' }
  await run([{ op: 'comment', id: newId(), taskId, text: 'Zirconium', ...origin }])
  await eventually('all events', () => receiver.seqs().length >= 151)
  const feed = await readFeed(ada, `/projects/${projectId}/events?after=${batch! - 1}`)
  expect(feed).toHaveLength(151)
  expect(feed.slice(0, 150).every((one) => one.batch === batch)).toBe(true)
  expect(receiver.received.flatMap(({ body }) => body.data.events)).toEqual(feed as never)
  const history = (await ada.get(`/tasks/${taskId}/history`)).body
  expect(history).toMatchObject([{ type: 'comment.created', after: origin }, { type: 'task.created' }])
  const found = (await ada.get(`/search?q=zirconium&projectId=${projectId}`)).body
  expect(JSON.stringify(found)).toContain(taskId)
})
