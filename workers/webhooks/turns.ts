import { type DeliveryRow, deliveryColumns } from '../../modules/webhooks/deliveries.ts'
import { batched } from '../../src/postgres/batch.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { retryOnce } from '../../src/postgres/errors.ts'
import { beginTurns, leaseMs, type Turn } from './begin-turns.ts'

/** How a turn ended. Neither `upTo`, `waitMs` nor `disabled`: without a result, so that it begins again. */
export interface Ending {
  turn: Turn
  /** After a success: the seq up to which all is delivered. */
  upTo?: number
  /** After a failure: when to try again, or why not to. */
  waitMs?: number
  disabled?: string
  attempt?: DeliveryRow
}

/** How long the oldest end waits for a statement under way: nothing but its own webhook waits for it. */
const lingerMs = 10

/** Turns of one worker, many in each statement. */
export const openTurns = (sql: Sql, workerId: string) => ({
  /** Begins a delivery; undefined where nothing is due, or another worker delivers. */
  begin: batched({ keys: 200, slots: 1 }, (ids: string[]) => beginTurns(sql, workerId, ids)),
  /** Ends a delivery; true when more is due. */
  end: batched({ keys: 200, slots: 2, lingerMs }, (endings: Ending[]) => endTurns(sql, workerId, endings)),
  /** Renews the leases that this worker still has, and returns those. */
  renew: async (ids: string[]): Promise<string[]> => {
    const rows = await sql<{ id: string }[]>`
      update webhooks set lease_until = now() + ${leaseMs}::int4 * interval '1 ms'
      where id = any(${ids}::uuid[]) and lease_by = ${workerId} returning id`
    return rows.map(({ id }) => id)
  },
})

/** When a webhook that is to be disabled is tried again, if disabling it failed. */
const disablingMs = 60_000

/**
 * Ends deliveries, and returns which webhooks have more. An ending changes nothing where the delivery is another one by now,
 * a failure nothing of a webhook that was changed since, and nothing changes where another worker has the turn.
 */
async function endTurns(sql: Sql, workerId: string, endings: Ending[]): Promise<boolean[]> {
  const rows = endings.map(({ turn: { id, deliveryId, revision }, upTo, waitMs, disabled }) => {
    return { id, deliveryId, revision, upTo, waitMs: disabled === undefined ? waitMs : disablingMs }
  })
  const attempts = endings.flatMap(({ attempt = [] }) => attempt)
  const found = await retryOnce(
    () => sql<{ id: string }[]>`
    with r as materialized (select * from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb)
      as r(id uuid, "deliveryId" uuid, revision int4, "upTo" bigint, "waitMs" int4)),
    ended as (
      update webhooks w set lease_by = null, lease_until = null, ${outcome(sql)} from r, streams s
      where w.id = r.id and w.lease_by = ${workerId} and s.project_id = w.project_id
      returning w.id, coalesce(r."upTo", r."waitMs") is not null as was_tried,
        w.disabled_at is null and w.next_at is null and w.cursor < s.version as has_more),
    noted as (
      insert into webhook_deliveries
      select a.* from jsonb_to_recordset(${JSON.stringify(attempts)}::text::jsonb) as a(${deliveryColumns(sql)})
      where exists (select from webhooks w where w.id = a."webhookId") on conflict do nothing)
    select id from ended where was_tried and has_more`,
  )
  const more = new Set(found.map(({ id }) => id))
  return endings.map(({ turn: { id } }) => more.has(id))
}

/** What an ending makes of webhook `w`. In one update, which checks a row again after it waited for its lock. */
const outcome = (sql: Sql) => sql`
  cursor = case when ${isDelivered(sql)} then r."upTo" else w.cursor end,
  delivery_id = case when ${isDelivered(sql)} then null else w.delivery_id end,
  head = case when ${isDelivered(sql)} then null else w.head end,
  failures = case when ${isDelivered(sql)} then 0 when ${hasFailed(sql)} then w.failures + 1 else w.failures end,
  failing_since = case when ${isDelivered(sql)} then null when ${hasFailed(sql)} then coalesce(w.failing_since, now())
    else w.failing_since end,
  next_at = case when ${hasFailed(sql)} then now() + r."waitMs" * interval '1 ms' end`

const isDelivered = (sql: Sql) => sql`(w.delivery_id = r."deliveryId" and r."upTo" is not null)`
/** A failure says nothing of a URL, a secret or a beginning that the webhook has got since. */
const hasFailed = (sql: Sql) => sql`(w.delivery_id = r."deliveryId" and w.revision = r.revision
  and r."waitMs" is not null)`
