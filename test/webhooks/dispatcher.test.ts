import { WebhookIndex } from '../../workers/webhooks/start.ts'
import { Dispatcher } from '../../workers/webhooks/dispatcher.ts'
import { readEventPage, openEventPages, type EventSlice, type EventPage } from '../../modules/events/rows.ts'
import { shownEvent } from '../../modules/events/schema.ts'
import { eventually, forFile, make, openScene, untilBlocked, upTo } from '../kit.ts'
import { openReceiver } from './receiver.ts'

// The service has no worker, so only the dispatcher under test delivers events.
// Commits wait for locks that a test holds.
const { service, sql, ada } = await openScene(['Ada'], { LOCK_TIMEOUT_MS: '30000' })
const receiver = await forFile(openReceiver())
let projectId: string
beforeEach(async () => void (projectId = (await make(ada, '/projects', { name: 'Engine' })).id))
const hook = (others = {}) =>
  make(ada, `/projects/${projectId}/webhooks`, { url: `${receiver.url}/`, ...others })

test('after a notification, a webhook gets all its events, one delivery after another', async () => {
  const { id } = await hook({ maxEvents: 1 })
  for (const title of ['One', 'Two', 'Three']) await make(ada, '/tasks', { title, projectId })
  const dispatcher = new Dispatcher(service.services)
  dispatcher.wake([id])
  await eventually('all events', () => receiver.received.length === 3)
  expect(receiver.seqs()).toEqual([3, 4, 5])
  dispatcher.stop()
  await dispatcher.drain(60_000)
})

test('a full search removes a deleted webhook from the index', async () => {
  const index = new WebhookIndex(service.services.database.background)
  const [kept, removed] = [await hook(), await hook()]
  await index.refresh([projectId])
  expect([...index.of(projectId)].sort()).toEqual([kept.id, removed.id].sort())
  await ada.delete(`/projects/${projectId}/webhooks/${removed.id}`)
  for (let round = 0; round < 2; round++) await index.searchNext()
  expect([...index.of(projectId)]).toEqual([kept.id])
})

test('creating a webhook during the deletion of its project fails with 404', async () => {
  const { reads } = service.services.database
  const { deleted, made } = await reads.begin(async (held) => {
    await held`select from streams where project_id = ${projectId} for update`
    const deleted = ada.delete(`/projects/${projectId}`)
    await untilBlocked(reads, 1, '%update streams%')
    return { deleted, made: ada.post(`/projects/${projectId}/webhooks`, { url: `${receiver.url}/` }) }
  })
  expect([(await deleted).status, (await made).status]).toEqual([200, 404])
  expect(await sql`select from webhooks where project_id = ${projectId}`).toHaveLength(0)
})

const shown = ({ events, upTo }: EventPage) => {
  return { upTo, seqs: events.map(({ seq }) => seq), texts: events.map((event) => shownEvent(event)) }
}
const outcomes = async (reads: Promise<EventPage>[]) =>
  (await Promise.allSettled(reads)).map((one) =>
    one.status === 'fulfilled' ? shown(one.value) : (one.reason as Error).message,
  )
async function sliceOf(tasks: number, over: Partial<EventSlice> = {}, description = ''): Promise<EventSlice> {
  const { id } = await make(ada, '/projects', { name: 'Engine' })
  for (const n of upTo(tasks)) await make(ada, '/tasks', { title: `T${n}`, description, projectId: id })
  return { projectId: id, after: 0, version: tasks + 1, limit: 100, types: null, ...over }
}

test('batched reads of event pages return the same pages as single reads', async () => {
  const expired = [await sliceOf(9, { after: 2 }), await sliceOf(9, { after: 4 })]
  const ids = expired.map((one) => one.projectId)
  await sql`delete from events where project_id = any(${ids}::uuid[]) and seq < 5`
  const [some, middle] = [await sliceOf(9, { limit: 3 }), await sliceOf(9, { after: 4, version: 7 })]
  const slices = [
    ...[await sliceOf(9), some, middle],
    await sliceOf(9, { types: ['project.created', 'task.updated'] }),
    await sliceOf(9, { types: ['task.created'], limit: 2 }),
    await sliceOf(9, { types: ['comment.created'] }),
    await sliceOf(9, { after: 10 }),
    await sliceOf(70, {}, 'x'.repeat(20_000)),
    ...expired,
  ]
  const { database, oldestSeq } = service.services
  const alone = await outcomes(slices.map((one) => readEventPage(database.reads, oldestSeq, one)))
  const pageAt = openEventPages(service.services)
  const values = await outcomes([...slices, some, middle].map((one) => pageAt(one)))
  expect(values).toEqual([...alone, alone[1]!, alone[2]!])
  expect(values.slice(0, 3)).toMatchObject([
    { upTo: 10, seqs: upTo(10) },
    { upTo: 3, seqs: [1, 2, 3] },
    { upTo: 7, seqs: [5, 6, 7] },
  ])
  expect((values[7] as { upTo: number }).upTo).toBeLessThan(71)
  expect(values[8]).toBe('Events before 5 are no longer kept')
})
