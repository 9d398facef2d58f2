import { eventually, make, newId, openScene, type Sql, unreachableUrl } from '../kit.ts'
import { type Claim, claimWebhooks, type DeliveryResult, openClaims } from '../../workers/webhooks/claims.ts'

const { sql, ada } = await openScene(['Ada'])
let id: string
let path: string
beforeEach(async () => {
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  id = (await make(ada, `/projects/${projectId}/webhooks`, { url: unreachableUrl })).id
  path = `/projects/${projectId}/webhooks/${id}`
  await make(ada, '/tasks', { title: 'Event', projectId })
})

const openWorker = () => openClaims(sql, newId())
const state = async () => (await ada.get(path)).body
const endLease = () => sql`update webhooks set lease_until = now() - interval '1 second' where id = ${id}`

test('another worker claims the same delivery after the lease of a lost worker has ended', async () => {
  const [first, second] = [openWorker(), openWorker()]
  const claim = await first.claim(id)
  expect(claim).toMatchObject({ id })
  expect(await second.claim(id)).toBeUndefined()
  expect([await second.renew([id]), await first.renew([id])]).toEqual([[], [id]])
  await endLease()
  expect(await second.claim(id)).toMatchObject({ id, deliveryId: claim!.deliveryId, head: claim!.head })
  expect([await first.renew([id]), await second.renew([id])]).toEqual([[], [id]])
})

test('one of two workers that claim a webhook concurrently gets the claim', async () => {
  let isDone = false
  const second = await sql.begin(async (held) => {
    expect((await claimWebhooks(held as unknown as Sql, newId(), [id]))[0]).toMatchObject({ id })
    const beginning = claimWebhooks(sql, newId(), [id]).finally(() => (isDone = true))
    const waiting = () => sql`select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%lease_by%'`
    await eventually('a lock wait or an end', async () => isDone || (await waiting()).length > 0)
    return { beginning }
  })
  expect(await second.beginning).toEqual([undefined])
})

test('stores no attempt for a webhook that was deleted during the delivery', async () => {
  const { claim: claimWebhook, release } = openWorker()
  const claim = (await claimWebhook(id))!
  const outcome = { status: 200, error: null, answer: '', at: new Date().toISOString(), durationMs: 1 }
  const seqs = { firstSeq: 2, lastSeq: 2, events: 1, attempt: 1, type: 'events' as const }
  const attempt = () => ({ webhookId: id, id: newId(), deliveryId: claim!.deliveryId, ...seqs, ...outcome })
  const attempts = async () => (await sql`select from webhook_deliveries where webhook_id = ${id}`).length
  await release({ claim, attempt: attempt(), waitMs: 1 })
  expect(await attempts()).toBe(1)
  await sql`delete from webhooks where id = ${id}`
  expect(await release({ claim, upTo: 2, attempt: attempt() })).toBeFalse()
  expect(await attempts()).toBe(1)
})

const results: Record<string, Partial<DeliveryResult>> = {
  'a success': { upTo: 2 },
  'a failure': { waitMs: 60_000 },
  'a failure that disables the webhook': { disabled: 'Gone' },
  'that nothing was sent': {},
}
for (const [how, result] of Object.entries(results))
  test(`storing ${how} after the lease has ended does not change the claim of another worker`, async () => {
    const [late, current] = [openWorker(), openWorker()]
    const lateClaim: Claim = (await late.claim(id))!
    await endLease()
    const currentClaim: Claim = (await current.claim(id))!
    expect(currentClaim.deliveryId).toBe(lateClaim.deliveryId)
    const before = await state()
    expect(await late.release({ claim: lateClaim, ...result })).toBe(false)
    expect(await state()).toEqual(before)
    expect(await openWorker().claim(id)).toBeUndefined()
    expect(await current.renew([id])).toEqual([id])
    await current.release({ claim: currentClaim, upTo: 2 })
    expect(await state()).toMatchObject({ enabled: true, failures: 0, cursor: 2 })
  })
