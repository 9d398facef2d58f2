import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { deliveryRow } from '../../modules/webhooks/deliveries.ts'
import { openTurns } from '../../workers/webhooks/turns.ts'
import { beginTurns } from '../../workers/webhooks/begin-turns.ts'
import { newId } from '../../src/ids.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { eventually } from '../races/pair.ts'
import { make, register } from '../support/client.ts'
import { openTestService, type TestService } from '../support/service.ts'

let service: TestService
let sql: Sql
let id: string
const [one, other] = [newId(), newId()]
beforeAll(async () => {
  service = await openTestService()
  sql = service.services.database.chores
})
afterAll(() => service.close())
/** A webhook that something is due to, without a worker. */
beforeEach(async () => {
  const ada = await register(service.client)
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  id = (await make(ada, `/projects/${projectId}/webhooks`, { url: 'http://127.0.0.1:9/' })).id
  await make(ada, '/tasks', { title: 'T', projectId })
})

test('a turn whose worker is gone is begun by another one once its lease is over, as the same delivery', async () => {
  const [first, second] = [openTurns(sql, one), openTurns(sql, other)]
  const turn = await first.begin(id)
  expect(turn).toMatchObject({ id })
  expect(await second.begin(id)).toBeUndefined()
  expect([await second.renew([id]), await first.renew([id])]).toEqual([[], [id]])
  await sql`update webhooks set lease_until = now() - interval '1 ms' where id = ${id}`
  expect(await second.begin(id)).toMatchObject({ id, deliveryId: turn!.deliveryId, head: turn!.head })
  expect([await first.renew([id]), await second.renew([id])]).toEqual([[], [id]])
})

test('of two workers that begin the same turn at once one has it', async () => {
  let isDone = false
  const second = await sql.begin(async (held) => {
    expect((await beginTurns(held as unknown as Sql, one, [id]))[0]).toMatchObject({ id })
    const beginning = beginTurns(sql, other, [id]).finally(() => (isDone = true))
    const waits = async () =>
      (
        await sql`select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%lease_by%'`
      ).length > 0
    await eventually('the other worker', async () => isDone || (await waits()))
    return { beginning }
  })
  expect(await second.beginning).toEqual([undefined])
})

test('nothing is noted of a delivery whose webhook was deleted meanwhile', async () => {
  const { begin, end } = openTurns(sql, one)
  const turn = (await begin(id))!
  const outcome = { status: 200, error: null, answer: '', retryAfterMs: null, durationMs: 1 }
  const seqs = { firstSeq: 2, lastSeq: 2, events: 1, attempt: 1 }
  const attempt = () =>
    deliveryRow({ webhookId: id, id: newId(), deliveryId: turn.deliveryId, type: 'events', ...seqs }, outcome)
  const noted = async () => (await sql`select from webhook_deliveries where webhook_id = ${id}`).length
  await end({ turn, attempt: attempt(), waitMs: 1 })
  expect(await noted()).toBe(1)
  await sql`delete from webhooks where id = ${id}`
  expect(await end({ turn, upTo: 2, attempt: attempt() })).toBeFalse()
  expect(await noted()).toBe(1)
})
