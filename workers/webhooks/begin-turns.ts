import type { webhooks } from '../../drizzle/schema/webhooks.ts'
import type { Receiver } from '../../modules/webhooks/send.ts'
import type { EventType } from '../../src/model/entities.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { inOrder } from '../../src/postgres/row-order.ts'

type Stored = typeof webhooks.$inferSelect
type Sent = keyof Receiver | 'revision' | 'maxEvents' | 'cursor' | 'failures'

/** A delivery that a worker has begun: no other worker begins it until the lease is over. */
export interface Turn extends Pick<Stored, Sent> {
  types: EventType[] | null
  deliveryId: string
  head: number
  /** Since the first failure in a row. */
  failingMs: number
}

/** The time that a worker may deliver to a webhook without renewing its lease. */
export const leaseMs = 5_000

/** A delivery that is sent again keeps its id and its last event: the receiver can recognize it. */
export async function beginTurns(sql: Sql, workerId: string, ids: string[]): Promise<(Turn | undefined)[]> {
  const turns = await sql<Turn[]>`
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
  return inOrder(ids, turns, ({ id }) => id)
}

/** True when webhook `w` of stream `s` has something to deliver now, and no worker delivers to it. */
export const isDue = (sql: Sql) => sql`
  w.disabled_at is null and s.version > w.cursor
  and (w.next_at is null or w.next_at <= now()) and (w.lease_until is null or w.lease_until < now())`
