import { asColumns, deliveryColumns } from '../../modules/webhooks/delivery-rows.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { patiently } from '../../src/postgres/errors.ts'
import type { Ending } from './turn.ts'

/**
 * Ends deliveries: says of which there is more. Where somebody changed what is sent next meanwhile, that stays, and
 * where another worker has the turn by now, all does.
 */
export async function endTurns(sql: Sql, workerId: string, endings: Ending[]): Promise<boolean[]> {
  const rows = endings.map(({ turn, upTo = null, waitMs = null, disabled = null }) => ({
    ...{ id: turn.id, delivery_id: turn.deliveryId, up_to: upTo, wait_ms: waitMs, disabled },
  }))
  const attempts = endings.flatMap(({ attempt }) => (attempt ? [asColumns(attempt)] : []))
  const over = sql`lease_by = null, lease_until = null`
  const mine = sql`w.id = r.id and w.lease_by = ${workerId}`
  const found = await patiently(
    () => sql<{ id: string }[]>`
    with r as materialized (select * from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb)
      as r(id uuid, delivery_id uuid, up_to bigint, wait_ms int4, disabled text)),
    ended as (
      update webhooks w set ${over}, ${outcome(sql)} from r, streams s
      where ${mine} and w.delivery_id = r.delivery_id and s.project_id = w.project_id
      returning w.id, r.up_to < s.version as has_more),
    changed as (
      update webhooks w set ${over} from r where ${mine} and w.delivery_id is distinct from r.delivery_id returning w.id),
    noted as (
      insert into webhook_deliveries
      select a.* from jsonb_to_recordset(${JSON.stringify(attempts)}::text::jsonb) as a(${deliveryColumns(sql)})
      where exists (select from webhooks w where w.id = a.webhook_id) on conflict do nothing)
    select id from ended where has_more union all select id from changed`,
  )
  const more = new Set(found.map(({ id }) => id))
  return endings.map(({ turn: { id } }) => more.has(id))
}

/** What an ending makes of webhook `w`, in the order of its cases: delivered, failed, and neither. */
const outcome = (sql: Sql) => sql`
  cursor = coalesce(r.up_to, w.cursor),
  delivery_id = case when r.up_to is null then w.delivery_id end,
  head = case when r.up_to is null then w.head end,
  failures = case when r.up_to is not null then 0 when ${hasFailed(sql)} then w.failures + 1 else w.failures end,
  failing_since = case when r.up_to is not null then null when ${hasFailed(sql)} then coalesce(w.failing_since, now())
    else w.failing_since end,
  next_at = case when r.wait_ms is not null then now() + r.wait_ms * interval '1 ms' end,
  revision = w.revision + case when ${isEnded(sql)} then 1 else 0 end,
  disabled_reason = case when ${isEnded(sql)} then r.disabled else w.disabled_reason end,
  disabled_at = case when ${isEnded(sql)} then now() else w.disabled_at end`

const hasFailed = (sql: Sql) => sql`(r.wait_ms is not null or r.disabled is not null)`
const isEnded = (sql: Sql) => sql`(r.disabled is not null and w.disabled_at is null)`
