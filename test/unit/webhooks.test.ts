import { WebhookIndex } from '../../workers/webhooks/start.ts'
import { afterFailure, DeliveryQueues, Dispatcher } from '../../workers/webhooks/dispatcher.ts'
import { type EventPage, type EventSlice, openEventPages, readEventPage } from '../../modules/events/rows.ts'
import { shownEvent } from '../../modules/events/schema.ts'
import { eventually, forFile, make, openScene, untilBlocked, upTo } from '../kit.ts'
import { openReceiver } from '../webhooks/receiver.ts'

// The service has no worker, so only the dispatcher under test delivers events.
// Commits wait for locks that a test holds.
const { service, sql, ada } = await openScene(['Ada'], { LOCK_TIMEOUT_MS: '30000' })
const receiver = await forFile(openReceiver())
let projectId: string
const hook = (others = {}) =>
  make(ada, `/projects/${projectId}/webhooks`, { url: `${receiver.url}/`, ...others })

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

describe('dispatcher', () => {
  beforeEach(async () => void (projectId = (await make(ada, '/projects', { name: 'Engine' })).id))

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
})

const ids = (from: number, count: number) => Array.from({ length: count }, (_, n) => `hook-${from + n}`)
const waitAll = (queues: DeliveryQueues, all: string[]) => all.forEach((id) => queues.add(id))

test('after a slow or failed delivery, a webhook uses the slow queue until one of its deliveries is fast', () => {
  const queues = new DeliveryQueues(1)
  const [bad, good] = ['bad', 'good']
  queues.recordSpeed(bad, false)
  waitAll(queues, [bad, good])
  expect(queues.startNext().sort()).toEqual([bad, good])
  for (const id of [bad, good]) queues.finish(id)
  queues.recordSpeed(bad, true)
  waitAll(queues, [bad, good])
  expect(queues.startNext()).toEqual([bad])
  queues.finish(bad)
  expect(queues.startNext()).toEqual([good])
})

test('a long delivery moves to the slow queue if the slow queue has room', () => {
  const queues = new DeliveryQueues(2)
  const all = ids(0, 13)
  waitAll(queues, all)
  for (let round = 0; round < 5; round++)
    for (const id of queues.startNext()) expect(queues.moveToSlow(id)).toBeTrue()
  const last = queues.startNext()
  expect(last).toEqual(ids(10, 2))
  for (const id of last) expect(queues.moveToSlow(id)).toBeFalse()
  expect(queues.moveToSlow(all[0]!)).toBeTrue()
  queues.finish(last[0]!)
  expect(queues.startNext()).toEqual(ids(12, 1))
})

const failed = { failures: 1, failingMs: 0, status: 500, retryAfterMs: null }
const day = 86_400_000
const hour = 3_600_000
const waits = (chance: number) =>
  [1, 2, 3, 4, 5, 6, 7, 8, 50].map((failures) => afterFailure({ ...failed, failures }, chance))

test('the waits between attempts grow, with up to 10 % of random jitter', () => {
  const expected = [5_000, 300_000, 1_800_000, 2 * hour, 5 * hour, 10 * hour, 10 * hour, 10 * hour, 10 * hour]
  expect(waits(0)).toEqual(expected.map((waitMs) => ({ waitMs })))
  expect(waits(1)).toEqual(expected.map((waitMs) => ({ waitMs: Math.round(waitMs * 1.1) })))
  const { waitMs } = afterFailure(failed) as { waitMs: number }
  expect(waitMs >= 5_000 && waitMs <= 5_500).toBe(true)
})

test('Retry-After lengthens the wait, up to the longest wait', () => {
  const after = (retryAfterMs: number, failures = 1) => afterFailure({ ...failed, failures, retryAfterMs }, 0)
  expect(after(90_000)).toEqual({ waitMs: 90_000 })
  expect(after(1_000)).toEqual({ waitMs: 5_000 })
  expect(after(100 * day)).toEqual({ waitMs: 10 * hour })
  expect(after(90_000, 2)).toEqual({ waitMs: 300_000 })
})

test('410 or five days of failures disable a webhook, with the last attempt at the end of the five days', () => {
  expect(afterFailure({ ...failed, status: 410 })).toEqual({ disabled: 'The receiver answered 410 Gone' })
  const at = (failingMs: number) => afterFailure({ ...failed, failures: 20, failingMs }, 0)
  expect(at(4 * day)).toEqual({ waitMs: 10 * hour })
  expect(at(5 * day - hour)).toEqual({ waitMs: hour })
  expect(at(5 * day)).toEqual({ disabled: 'All attempts of 5 days failed' })
})
