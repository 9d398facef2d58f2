import { asColumns, deliveryColumns } from '../../modules/webhooks/delivery-rows.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { patiently } from '../../src/postgres/errors.ts'
import type { Ending } from './turn.ts'

/** When a webhook that is to be disabled is tried again, if disabling it failed. */
const disablingMs = 60_000

/**
 * Ends deliveries: says of which there is more. What somebody changed meanwhile stays: of another delivery nothing is
 * ended, and a failure is held against nobody but the webhook that was sent to. Where another worker has the turn by
 * now, all stays.
 */
export async function endTurns(sql: Sql, workerId: string, endings: Ending[]): Promise<boolean[]> {
  const rows = endings.map(({ turn, upTo = null, waitMs = null, disabled = null }) => ({
    ...{ id: turn.id, delivery_id: turn.deliveryId, revision: turn.revision },
    ...{ up_to: upTo, wait_ms: disabled === null ? waitMs : disablingMs },
  }))
  const attempts = endings.flatMap(({ attempt }) => (attempt ? [asColumns(attempt)] : []))
  const found = await patiently(
    () => sql<{ id: string }[]>`
    with r as materialized (select * from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb)
      as r(id uuid, delivery_id uuid, revision int4, up_to bigint, wait_ms int4)),
    ended as (
      update webhooks w set lease_by = null, lease_until = null, ${outcome(sql)} from r, streams s
      where w.id = r.id and w.lease_by = ${workerId} and s.project_id = w.project_id
      returning w.id, coalesce(r.up_to, r.wait_ms) is not null as was_tried,
        w.disabled_at is null and w.next_at is null and w.cursor < s.version as has_more),
    noted as (
      insert into webhook_deliveries
      select a.* from jsonb_to_recordset(${JSON.stringify(attempts)}::text::jsonb) as a(${deliveryColumns(sql)})
      where exists (select from webhooks w where w.id = a.webhook_id) on conflict do nothing)
    select id from ended where was_tried and has_more`,
  )
  const more = new Set(found.map(({ id }) => id))
  return endings.map(({ turn: { id } }) => more.has(id))
}

/**
 * What an ending makes of webhook `w`: delivered, failed, and neither. In one update, which looks again at a row that it
 * had to wait for: who changed it may have been first.
 */
const outcome = (sql: Sql) => sql`
  cursor = case when ${isDelivered(sql)} then r.up_to else w.cursor end,
  delivery_id = case when ${isDelivered(sql)} then null else w.delivery_id end,
  head = case when ${isDelivered(sql)} then null else w.head end,
  failures = case when ${isDelivered(sql)} then 0 when ${hasFailed(sql)} then w.failures + 1 else w.failures end,
  failing_since = case when ${isDelivered(sql)} then null when ${hasFailed(sql)} then coalesce(w.failing_since, now())
    else w.failing_since end,
  next_at = case when ${hasFailed(sql)} then now() + r.wait_ms * interval '1 ms' end`

const isDelivered = (sql: Sql) => sql`(w.delivery_id = r.delivery_id and r.up_to is not null)`
/** It says nothing of a URL, a secret or a beginning that the webhook has got since. */
const hasFailed = (sql: Sql) => sql`(w.delivery_id = r.delivery_id and w.revision = r.revision
  and r.wait_ms is not null)`
