import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Person, register } from '../support/client.ts'
import { openTestService, type TestService } from '../support/service.ts'
import { eventually } from '../races/pair.ts'
import { furnish, owed, rowsWith } from './remains.ts'

let service: TestService
let ada: Person
const sql = () => service.services.database.reads
beforeAll(async () => {
  // Each of the large projects takes two minutes, and there is but one slot.
  service = await openTestService({ JOB_CONCURRENCY: '1', JOB_BATCH_ROWS: '1', JOB_PAUSE_MS: '1000' })
  ada = await register(service.client)
})
afterAll(() => service.close())

test('large cascades let small ones pass', async () => {
  const large = await Promise.all([furnish(ada, 40), furnish(ada, 40)])
  const small = await furnish(ada, 0)
  service.startWorkers()
  for (const { id } of large) await ada.delete(`/projects/${id}`)
  await eventually('a beginning', async () => (await rowsWith(sql(), large[0]!.ids)).comments! < 80)
  await ada.delete(`/projects/${small.id}`)
  await eventually('the end of the small one', async () => (await owed(sql())) === 2)
  expect(await rowsWith(sql(), small.ids)).toEqual({})
  for (const { ids } of large) expect((await rowsWith(sql(), ids)).tasks).toBeGreaterThan(30)
})
