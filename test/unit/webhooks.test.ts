import { DeliveryPlaces } from '../../workers/webhooks/start.ts'
import { afterFailure } from '../../workers/webhooks/deliver.ts'
import { make, openScene, readYaml, unreachableUrl as url, untilBlocked, upTo } from '../kit.ts'

// Commits wait for locks that a test holds.
const { service, sql, ada } = await openScene(['Ada'], { LOCK_TIMEOUT_MS: '30000' })
const newProject = async () => (await make(ada, '/projects', { name: 'Engine' })).id

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

/** Returns the webhooks that have a place, and takes the places. */
async function entered(places: DeliveryPlaces, ids: string[]) {
  const found = new Map<string, Awaited<ReturnType<DeliveryPlaces['enter']>>>()
  for (const id of ids) void places.enter(id).then((place) => found.set(id, place))
  await Bun.sleep(1)
  return found
}

test('after a slow or failed delivery, a webhook has a slow place until one of its deliveries is fast', async () => {
  const places = new DeliveryPlaces(1)
  const both = ['bad', 'good']
  const bad = await places.enter('bad')
  bad.leave(false)
  const first = await entered(places, both)
  expect([...first.keys()]).toEqual(both)
  first.get('bad')!.leave(true)
  first.get('good')!.leave()
  const second = await entered(places, both)
  expect([...second.keys()]).toEqual(['bad'])
  second.get('bad')!.leave()
  await Bun.sleep(1)
  expect([...second.keys()]).toEqual(both)
})

test('a long delivery moves to a slow place if there is one', async () => {
  const places = new DeliveryPlaces(2)
  const all = upTo(13).map((n) => `hook-${n}`)
  const found = await entered(places, all)
  for (const n of upTo(5)) {
    for (const id of all.slice(2 * n - 2, 2 * n)) expect(found.get(id)!.becomeSlow()).toBeTrue()
    await Bun.sleep(1)
  }
  expect([...found.keys()]).toEqual(all.slice(0, 12))
  for (const id of all.slice(10, 12)) expect(found.get(id)!.becomeSlow()).toBeFalse()
  found.get(all[10]!)!.leave()
  await Bun.sleep(1)
  expect([...found.keys()]).toEqual(all)
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
