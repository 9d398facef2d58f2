import { WebhookIndex } from '../../workers/webhooks/start.ts'
import { afterFailure, DeliveryQueues } from '../../workers/webhooks/dispatcher.ts'
import { make, openScene, readYaml, unreachableUrl as url, untilBlocked, upTo } from '../kit.ts'

// Commits wait for locks that a test holds.
const { service, sql, ada } = await openScene(['Ada'], { LOCK_TIMEOUT_MS: '30000' })
const newProject = async () => (await make(ada, '/projects', { name: 'Engine' })).id

test('a full search removes a deleted webhook from the index', async () => {
  const index = new WebhookIndex(service.services.database.background)
  const projectId = await newProject()
  const hook = () => make(ada, `/projects/${projectId}/webhooks`, { url })
  const [kept, removed] = [await hook(), await hook()]
  await index.refresh([projectId])
  expect([...index.of(projectId)].sort()).toEqual([kept.id, removed.id].sort())
  await ada.delete(`/projects/${projectId}/webhooks/${removed.id}`)
  for (const _ of upTo(2)) await index.searchNext()
  expect([...index.of(projectId)]).toEqual([kept.id])
})

test('creating a webhook during the deletion of its project fails with 404', async () => {
  const { reads } = service.services.database
  const projectId = await newProject()
  const { deleted, made } = await reads.begin(async (held) => {
    await held`select from streams where project_id = ${projectId} for update`
    const deleted = ada.delete(`/projects/${projectId}`)
    await untilBlocked(reads, 1, '%update streams%')
    return { deleted, made: ada.post(`/projects/${projectId}/webhooks`, { url }) }
  })
  expect([(await deleted).status, (await made).status]).toEqual([200, 404])
  expect(await sql`select from webhooks where project_id = ${projectId}`).toHaveLength(0)
})

const waitAll = (queues: DeliveryQueues, all: string[]) => all.forEach((id) => queues.add(id))

test('after a slow or failed delivery, a webhook uses the slow queue until one of its deliveries is fast', () => {
  const queues = new DeliveryQueues(1)
  const both = ['bad', 'good']
  queues.recordSpeed('bad', false)
  waitAll(queues, both)
  expect(queues.startNext().sort()).toEqual(both)
  for (const id of both) queues.finish(id)
  queues.recordSpeed('bad', true)
  waitAll(queues, both)
  expect(queues.startNext()).toEqual(['bad'])
  queues.finish('bad')
  expect(queues.startNext()).toEqual(['good'])
})

test('a long delivery moves to the slow queue if the slow queue has room', () => {
  const queues = new DeliveryQueues(2)
  const all = upTo(13).map((n) => `hook-${n}`)
  waitAll(queues, all)
  for (const _ of upTo(5)) for (const id of queues.startNext()) expect(queues.moveToSlow(id)).toBeTrue()
  const last = queues.startNext()
  expect(last).toEqual(all.slice(10, 12))
  for (const id of last) expect(queues.moveToSlow(id)).toBeFalse()
  expect(queues.moveToSlow(all[0]!)).toBeTrue()
  queues.finish(last[0]!)
  expect(queues.startNext()).toEqual(all.slice(12))
})

const after = (over: object, chance = 0) =>
  afterFailure({ failures: 1, failingMs: 0, status: 500, retryAfterMs: null, ...over }, chance)

const { attempts } = readYaml<{ attempts: [string, object, number][] }>('test/unit/queues.yaml')

test.each(attempts)('after %s, an attempt waits, with up to 10 % of random jitter', (what, over, seconds) => {
  const waitMs = seconds * 1_000
  expect(after(over)).toEqual({ waitMs })
  if (/^(failure|many)/.test(what)) expect(after(over, 1)).toEqual({ waitMs: Math.round(waitMs * 1.1) })
})

test('410 or five days of failures disable a webhook', () => {
  expect(after({ status: 410 })).toEqual({ disabled: 'The receiver answered 410 Gone' })
  expect(after({ failures: 20, failingMs: 5 * 86_400_000 })).toEqual({
    disabled: 'All attempts of 5 days failed',
  })
})
