import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { Known } from '../../workers/webhooks/known.ts'
import { Work } from '../../workers/webhooks/work.ts'
import { eventually } from '../races/pair.ts'
import { make, type Person, register } from '../support/client.ts'
import { openTestService, type TestService } from '../support/service.ts'
import { openReceiver, type Receiver } from './receiver.ts'

// Without a worker: nothing looks for what is due.
let service: TestService
let receiver: Receiver
let ada: Person
let projectId: string
beforeAll(async () => {
  service = await openTestService()
  receiver = await openReceiver()
})
afterAll(async () => {
  await receiver.close()
  await service.close()
})
beforeEach(async () => {
  ada = await register(service.client)
  projectId = (await make(ada, '/projects', { name: 'Engine' })).id
})
const hook = (others = {}) =>
  make(ada, `/projects/${projectId}/webhooks`, { url: `${receiver.url}/`, ...others })

test('a webhook that was woken once is sent all that there is, delivery by delivery', async () => {
  const { id } = await hook({ maxEvents: 1 })
  for (const title of ['One', 'Two', 'Three']) await make(ada, '/tasks', { title, projectId })
  const work = new Work(service.services)
  work.wake([id])
  await eventually('all of them', () => receiver.received.length === 3)
  expect(receiver.seqs()).toEqual([3, 4, 5])
  work.stop()
  await work.end(60_000)
})

test('a webhook that is gone is no longer known after a look at all', async () => {
  const known = new Known(service.services.database.chores)
  const [kept, removed] = [await hook(), await hook()]
  await known.lookAt([projectId])
  expect([...known.of(projectId)].sort()).toEqual([kept.id, removed.id].sort())
  await ada.delete(`/projects/${projectId}/webhooks/${removed.id}`)
  for (let round = 0; round < 2; round++) await known.look()
  expect([...known.of(projectId)]).toEqual([kept.id])
})

test('a webhook that is made while its project is deleted is not there', async () => {
  const { reads } = service.services.database
  const { deleted, made } = await reads.begin(async (sql) => {
    await sql`select from streams where project_id = ${projectId} for update`
    const deleted = ada.delete(`/projects/${projectId}`)
    const waits = async () =>
      (
        await reads`select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%update streams%'`
      ).length > 0
    await eventually('the end of the project to be waited for', waits)
    return { deleted, made: ada.post(`/projects/${projectId}/webhooks`, { url: `${receiver.url}/` }) }
  })
  expect([(await deleted).status, (await made).status]).toEqual([200, 404])
  expect(await reads`select from webhooks where project_id = ${projectId}`).toHaveLength(0)
})
