import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { newId } from '../../src/ids.ts'
import type { Turn } from '../../workers/webhooks/begin-turns.ts'
import { type Ending, openTurns } from '../../workers/webhooks/turns.ts'
import { nowhere } from '../http/scene.ts'
import { make, type Person, register } from '../support/client.ts'
import { openTestService, type TestService } from '../support/service.ts'

let service: TestService
let ada: Person
let webhookId: string
let path: string
beforeAll(async () => {
  service = await openTestService()
  ada = await register(service.client)
})
afterAll(() => service.close())
beforeEach(async () => {
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  webhookId = (await make(ada, `/projects/${projectId}/webhooks`, { url: nowhere })).id
  path = `/projects/${projectId}/webhooks/${webhookId}`
  await make(ada, '/tasks', { title: 'Event', projectId })
})

const sql = () => service.services.database.chores
const openWorker = () => openTurns(sql(), newId())
const state = async () => (await ada.get(path)).body

/** A worker that was away for longer than its lease, and another one that has begun the same delivery since. */
async function overtake(): Promise<{ late: Turns; lateTurn: Turn; current: Turns; currentTurn: Turn }> {
  const [late, current] = [openWorker(), openWorker()]
  const lateTurn = (await late.begin(webhookId))!
  await sql()`update webhooks set lease_until = now() - interval '1 second' where id = ${webhookId}`
  const currentTurn = (await current.begin(webhookId))!
  expect(currentTurn.deliveryId).toBe(lateTurn.deliveryId)
  return { late, lateTurn, current, currentTurn }
}
type Turns = ReturnType<typeof openTurns>

const endings: Record<string, Partial<Ending>> = {
  'with success': { upTo: 2 },
  'with a failure': { waitMs: 60_000 },
  'with a failure that disables': { disabled: 'Gone' },
  'with nothing sent': {},
}
for (const [how, ending] of Object.entries(endings))
  test(`a worker whose lease is over ends ${how}: the delivery stays that of the worker that has it now`, async () => {
    const { late, lateTurn, current, currentTurn } = await overtake()
    const before = await state()
    expect(await late.end({ turn: lateTurn, ...ending })).toBe(false)
    expect(await state()).toEqual(before)
    expect(await openWorker().begin(webhookId)).toBeUndefined()
    expect(await current.renew([webhookId])).toEqual([webhookId])
    await current.end({ turn: currentTurn, upTo: 2 })
    expect(await state()).toMatchObject({ enabled: true, failures: 0, cursor: 2 })
  })
