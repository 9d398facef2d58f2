import { type DeliveryRow, deliveryColumns } from '../../modules/webhooks/deliveries.ts'
import { batched } from '../../src/postgres/batch.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { retryOnce } from '../../src/postgres/retries.ts'
import { claimWebhooks, leaseMs, type Claim } from './claim.ts'

export interface DeliveryResult {
  claim: Claim
  upTo?: number
  waitMs?: number
  disabled?: string
  attempt?: DeliveryRow
}

/** A result waits for other results, to share a statement. The wait delays only its own webhook. */
const lingerMs = 10

export const openClaims = (sql: Sql, workerId: string) => ({
  claim: batched({ keys: 200, slots: 1 }, (ids: string[]) => claimWebhooks(sql, workerId, ids)),
  /** Returns true if the webhook has more events to deliver. */
  release: batched({ keys: 200, slots: 2, lingerMs }, (results: DeliveryResult[]) =>
    releaseClaims(sql, workerId, results),
  ),
  renew: async (ids: string[]): Promise<string[]> => {
    const rows = await sql<{ id: string }[]>`
      update webhooks set lease_until = now() + ${leaseMs}::int4 * interval '1 ms'
      where id = any(${ids}::uuid[]) and lease_by = ${workerId} returning id`
    return rows.map(({ id }) => id)
  },
})

/** The next attempt repeats a failed command to disable the webhook. */
const disableRetryMs = 60_000

/**
 * Ignores a result if another worker has the claim or the webhook a new delivery id; a failure also if the webhook has
 * changed. Returns for each webhook whether it has more events to deliver.
 */
async function releaseClaims(sql: Sql, workerId: string, results: DeliveryResult[]): Promise<boolean[]> {
  const rows = results.map(({ claim: { id, deliveryId, revision }, upTo, waitMs, disabled }) => {
    return { id, deliveryId, revision, upTo, waitMs: disabled === undefined ? waitMs : disableRetryMs }
  })
  const attempts = results.flatMap(({ attempt = [] }) => attempt)
  const hasMore = await retryOnce(
    () => sql<{ id: string }[]>`
    with r as materialized (select * from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb)
      as r(id uuid, "deliveryId" uuid, revision int4, "upTo" bigint, "waitMs" int4)),
    ended as (
      update webhooks w set lease_by = null, lease_until = null, ${outcome(sql)} from r, streams s
      where w.id = r.id and w.lease_by = ${workerId} and s.project_id = w.project_id
      returning w.id, coalesce(r."upTo", r."waitMs") is not null as was_tried,
        w.disabled_at is null and w.next_at is null and w.cursor < s.version as has_more),
    recorded as (
      insert into webhook_deliveries
      select a.* from jsonb_to_recordset(${JSON.stringify(attempts)}::text::jsonb) as a(${deliveryColumns(sql)})
      where exists (select from webhooks w where w.id = a."webhookId") on conflict do nothing)
    select id from ended where was_tried and has_more`,
  )
  const more = new Set(hasMore.map(({ id }) => id))
  return results.map(({ claim: { id } }) => more.has(id))
}

/** SQL: one `update`, because Postgres computes an update again after a lock wait. */
const outcome = (sql: Sql) => sql`
  cursor = case when ${isDelivered(sql)} then r."upTo" else w.cursor end,
  delivery_id = case when ${isDelivered(sql)} then null else w.delivery_id end,
  head = case when ${isDelivered(sql)} then null else w.head end,
  failures = case when ${isDelivered(sql)} then 0 when ${hasFailed(sql)} then w.failures + 1 else w.failures end,
  failing_since = case when ${isDelivered(sql)} then null when ${hasFailed(sql)} then coalesce(w.failing_since, now())
    else w.failing_since end,
  next_at = case when ${hasFailed(sql)} then now() + r."waitMs" * interval '1 ms' end`

const isDelivered = (sql: Sql) => sql`(w.delivery_id = r."deliveryId" and r."upTo" is not null)`
/** A failure counts only if the webhook has not changed since the attempt. Each change raises `revision`. */
const hasFailed = (sql: Sql) => sql`(w.delivery_id = r."deliveryId" and w.revision = r.revision
  and r."waitMs" is not null)`
