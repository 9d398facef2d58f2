import { randomUUID } from 'node:crypto'
import { beforeEach, expect, setSystemTime, test } from 'bun:test'
import { eventually, make, newId, openScene, purgeProject, rowsRead, testSecret } from '../kit.ts'
import { unreachableUrl } from '../kit.ts'
import type { Sql } from '../kit.ts'
import { type Claim, claimWebhooks, type DeliveryResult, openClaims } from '../../workers/webhooks/claims.ts'
import { openEncryption } from '../../src/identity/encryption.ts'
import { expireDeliveries, reencryptSecrets } from '../../workers/webhooks/recurring.ts'
import { countDeletes } from '../workers/remains.ts'
import { openReceiver, verified } from './receiver.ts'
import type { Hook } from './scene.ts'

const { sql, ada } = await openScene(['Ada'])
let id: string
let path: string

const openWorker = () => openClaims(sql, newId())
const state = async () => (await ada.get(path)).body
const endLease = () => sql`update webhooks set lease_until = now() - interval '1 second' where id = ${id}`

const results: Record<string, Partial<DeliveryResult>> = {
  'a success': { upTo: 2 },
  'a failure': { waitMs: 60_000 },
  'a failure that disables the webhook': { disabled: 'Gone' },
  'that nothing was sent': {},
}

describe('claims', () => {
  beforeEach(async () => {
    const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
    id = (await make(ada, `/projects/${projectId}/webhooks`, { url: unreachableUrl })).id
    path = `/projects/${projectId}/webhooks/${id}`
    await make(ada, '/tasks', { title: 'Event', projectId })
  })

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
})

const throttle = { batchRows: 7, pauseMs: 0 }
const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
const hook = async (url = unreachableUrl) =>
  (await make(ada, `/projects/${projectId}/webhooks`, { url })) as Hook

const deliver = (webhookId: string, count: number, daysAgo: number) => sql`
  insert into webhook_deliveries (webhook_id, id, delivery_id, type, events, attempt, answer, at, duration_ms)
  select ${webhookId}, (lpad(to_hex(floor(extract(epoch from now() - ${daysAgo}::int4 * interval '1 day') * 1000)::bigint), 12, '0')
    || '7' || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid, gen_random_uuid(), 'test', 0, 1, 'x', now(), 1
  from generate_series(1, ${count}::int4)`

async function deliveriesByWebhook(): Promise<Record<string, number>> {
  const rows = await sql<{ webhookId: string; n: number }[]>`
    select webhook_id, count(*)::int4 as n from webhook_deliveries group by webhook_id`
  return Object.fromEntries(rows.map(({ webhookId, n }) => [webhookId, n]))
}

describe('expire deliveries', () => {
  beforeEach(async () => void (await sql`truncate webhooks, webhook_deliveries`))

  test('deletes deliveries after 30 days, or when their webhook is deleted', async () => {
    const [fresh, old, mixed] = [await hook(), await hook(), await hook()]
    await deliver(fresh.id, 20, 29)
    for (const { id } of [old, mixed]) await deliver(id, 20, 31)
    await deliver(mixed.id, 10, 1)
    await deliver(randomUUID(), 20, 1)
    for (const _ of ['once', 'again']) {
      expect(await expireDeliveries(sql, throttle)).toBeUndefined()
      expect(await deliveriesByWebhook()).toEqual({ [fresh.id]: 20, [mixed.id]: 10 })
    }
  })

  test('keeps recent deliveries when the clock of this machine is a year ahead', async () => {
    const { id } = await hook()
    await deliver(id, 5, 1)
    try {
      setSystemTime(Date.now() + 365 * 86_400_000)
      await expireDeliveries(sql, throttle)
    } finally {
      setSystemTime()
    }
    expect(await deliveriesByWebhook()).toEqual({ [id]: 5 })
  })

  test('no statement deletes more rows than the batch size', async () => {
    const deletes = await countDeletes(sql, 'webhook_deliveries')
    await deliver((await hook()).id, 20, 31)
    await expireDeliveries(sql, throttle)
    expect(await deletes()).toEqual([7, 7, 6])
  })

  test('purging a project reads few deliveries of other projects', async () => {
    for (const { id } of [await hook(), await hook(), await hook()]) await deliver(id, 3_000, 1)
    const { id } = await hook()
    await deliver(id, 3_000, 1)
    const deletedProject = randomUUID()
    await sql`update webhooks set project_id = ${deletedProject} where id = ${id}`
    await sql`analyze webhooks, webhook_deliveries`
    await sql.begin(async (tx) => {
      // Forces the plans that Postgres chooses for a large table.
      for (const way of ['seqscan', 'hashjoin', 'mergejoin']) await tx.unsafe(`set local enable_${way} = off`)
      await purgeProject(tx as unknown as typeof sql, deletedProject, { batchRows: 100, pauseMs: 0 })
      expect(await rowsRead(tx, 'webhook_deliveries')).toBeLessThan(3 * 3_000)
    })
    expect(await deliveriesByWebhook()).not.toHaveProperty(id)
  })

  test('re-encrypts webhook secrets after a change of JWT_SECRET, without changing the secrets themselves', async () => {
    const receiver = await openReceiver()
    const { id, secret } = await hook(receiver.url)
    const path = `/projects/${projectId}/webhooks/${id}`
    const next = openEncryption(['the next secret, of thirty-two bytes', testSecret])
    await reencryptSecrets(sql, next, throttle)
    const stored = async () =>
      (await sql<{ secret: string }[]>`select secret from webhooks where id = ${id}`)[0]!.secret
    const sealed = await stored()
    expect(next.decrypt(sealed)).toBe(secret)
    expect(openEncryption([testSecret]).decrypt(sealed)).toBeNull()
    await reencryptSecrets(sql, next, throttle)
    expect(await stored()).toBe(sealed)
    expect((await ada.post(`${path}/test`)).body.message).toBe(
      'The secret cannot be decrypted: rotate the secret',
    )
    await reencryptSecrets(
      sql,
      openEncryption([testSecret, 'the next secret, of thirty-two bytes']),
      throttle,
    )
    expect((await ada.post(`${path}/test`)).status).toBe(200)
    expect(verified(secret, receiver.received[0]!)).toEqual(receiver.received[0]!.body)
    await receiver.close()
  })

  test('re-encryption continues after the last webhook of the previous run', async () => {
    const hooks = [await hook(), await hook(), await hook(), await hook(), await hook()]
    const next = openEncryption(['the next secret, of thirty-two bytes', testSecret])
    const short = { batchRows: 2, pauseMs: 0, isOver: () => true }
    const positions: unknown[] = []
    for (
      let position: string | undefined | void = '00000000-0000-0000-0000-000000000000';
      position !== undefined;
    ) {
      position = await reencryptSecrets(sql, next, short, position)
      positions.push(position)
    }
    const ids = hooks.map(({ id }) => id).sort()
    expect(positions).toEqual([ids[1], ids[3], undefined])
    const rows = await sql<{ id: string; secret: string }[]>`select id, secret from webhooks`
    const alone = openEncryption(['the next secret, of thirty-two bytes'])
    expect(new Map(rows.map(({ id, secret }) => [id, alone.decrypt(secret)]))).toEqual(
      new Map(hooks.map(({ id, secret }) => [id, secret])),
    )
  })
})
