import type { webhooks } from '../../drizzle/schema/webhooks.ts'
import type { Receiver } from '../../modules/webhooks/send.ts'
import type { EventType } from '../../src/model/entities.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { inOrder } from '../../src/postgres/row-order.ts'

type Stored = typeof webhooks.$inferSelect
type Columns = keyof Receiver | 'revision' | 'maxEvents' | 'cursor' | 'failures'

/** A webhook and its next delivery. No other worker claims the webhook before the lease ends. */
export interface Claim extends Pick<Stored, Columns> {
  types: EventType[] | null
  deliveryId: string
  head: number
  failingMs: number
}

export const leaseMs = 5_000

/** A retried delivery has the same id and events, so that the receiver recognizes it. */
export async function claimWebhooks(
  sql: Sql,
  workerId: string,
  ids: string[],
): Promise<(Claim | undefined)[]> {
  const claims = await sql<Claim[]>`
    with due as (
      select w.id, s.version from webhooks w join streams s on s.project_id = w.project_id
      where w.id = any(${ids}::uuid[]) and ${isDue(sql)} and exists (select from projects p where p.id = w.project_id)
      order by w.id for update of w skip locked)
    update webhooks w set lease_by = ${workerId}, lease_until = now() + ${leaseMs}::int4 * interval '1 ms',
      delivery_id = coalesce(w.delivery_id, gen_random_uuid()), head = coalesce(w.head, due.version)
    from due where w.id = due.id
    returning w.id, w.project_id, w.revision, w.url, string_to_array(w.types, ' ') as types, w.max_events, w.secret,
      w.former_secret, w.former_until, w.cursor::float8 as cursor, w.failures, w.delivery_id, w.head::float8 as head,
      coalesce(extract(epoch from now() - w.failing_since) * 1000, 0)::float8 as failing_ms`
  return inOrder(ids, claims, ({ id }) => id)
}

/** SQL: true if webhook `w` of stream `s` has events to deliver now, and no worker has claimed the webhook. */
export const isDue = (sql: Sql) => sql`
  w.disabled_at is null and s.version > w.cursor
  and (w.next_at is null or w.next_at <= now()) and (w.lease_until is null or w.lease_until < now())`
