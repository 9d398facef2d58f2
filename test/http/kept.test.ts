import { expect, test } from 'bun:test'
import { eventsAt } from '../../modules/events/pages.ts'
import { make } from '../support/client.ts'
import { readFeed } from './feed.ts'
import { streamIn } from './listen.ts'
import { openScene } from '../support/scene.ts'

const { service, sql, ada } = await openScene(['Ada'], { HISTORY_DAYS: '30' })

/** A project with so many events. */
async function openProject(count: number): Promise<string> {
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  const operations = Array.from({ length: count - 1 }, (_, i) => ({ op: 'task.create', title: `T${i}` }))
  expect(await ada.post(`/projects/${projectId}/batch`, { operations })).toMatchObject({ status: 200 })
  return projectId
}

const removeBefore = (projectId: string, seq: number) =>
  sql`delete from events where project_id = ${projectId} and seq < ${seq}`
const feedOf = (projectId: string, query: string) => `/projects/${projectId}/events?${query}`
const goneBefore = (seq: number) => ({
  statusCode: 410,
  message: `Events before ${seq} are no longer kept`,
  error: 'Gone',
})
const streamed = { accept: 'text/event-stream' }

test('who goes on after what is no longer kept is told so, however they ask', async () => {
  const projectId = await openProject(9)
  const had = await ada.get(feedOf(projectId, 'after=0'))
  await removeBefore(projectId, 5)
  const asks = ['after=0', 'after=3', 'after=3&wait=25', 'after=0&limit=1', 'after=0&types=comment.created']
  for (const query of asks) {
    const { status, body } = await ada.get(feedOf(projectId, query))
    expect([query, status, body as object]).toEqual([query, 410, goneBefore(5)])
  }
  const known = { 'if-none-match': had.headers.get('etag')! }
  for (const headers of [known, streamed, { ...streamed, 'last-event-id': '2' }]) {
    const { status, body } = await ada.get(feedOf(projectId, 'after=0'), headers)
    expect([status, body as object]).toEqual([410, goneBefore(5)])
  }
})

test('who had the last of what went misses nothing', async () => {
  const projectId = await openProject(9)
  await removeBefore(projectId, 5)
  const seqs = (await readFeed(ada, feedOf(projectId, 'after=4'))).map(({ seq }) => seq)
  expect(seqs).toEqual([5, 6, 7, 8, 9])
  expect((await ada.get(feedOf(projectId, 'after=9'))).text).toBe('[]')
  expect((await ada.get(feedOf(projectId, 'after=4&types=comment.created'))).text).toBe('[]')
})

for (const types of [null, ['task.created'], ['comment.created']]) {
  test(`events that go while they are read are not skipped: ${types}`, async () => {
    const projectId = await openProject(9)
    const seen = (await service.services.findRole({ userId: ada.id }, projectId))!
    await removeBefore(projectId, 5)
    const { database, oldestKept } = service.services
    const reading = eventsAt(database.reads, oldestKept, { ...seen, after: 2, limit: 100, types })
    await expect(reading).rejects.toMatchObject({ status: 410, message: goneBefore(5).message })
  })
}

test('a stream whose place is gone before its reader took what was there ends, and says why', async () => {
  const projectId = await openProject(300)
  const stream = await streamIn(service, ada, feedOf(projectId, 'after=0'))
  const reader = stream.getReader()
  const chunk = async () => new TextDecoder().decode((await reader.read()).value)
  expect(await chunk()).toStartWith('retry: ')
  expect(await chunk()).toContain('id: 100\n')
  await removeBefore(projectId, 201)
  expect(await chunk()).toEndWith(`event: end\ndata: ${JSON.stringify(goneBefore(201))}\n\n`)
  expect((await reader.read()).done).toBe(true)
})
