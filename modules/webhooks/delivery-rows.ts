import type { webhookDeliveries } from '../../drizzle/schema/webhooks.ts'
import type { Outcome } from '../../src/outbound/answer.ts'
import type { Sql } from '../../src/postgres/database.ts'

export type DeliveryRow = typeof webhookDeliveries.$inferSelect

/** A page of a webhook's deliveries, the newest first, with one row more than asked. */
export const deliveriesOf = (sql: Sql, webhookId: string, before: string, limit: number) => sql<
  DeliveryRow[]
>`
  select webhook_id, id, delivery_id, type, first_seq::float8 as first_seq, last_seq::float8 as last_seq, events, attempt,
    status, error, answer, at, duration_ms
  from webhook_deliveries where webhook_id = ${webhookId} and id < ${before} order by id desc limit ${limit + 1}`

/** What is noted of an attempt. */
export function deliveryRow(
  about: Omit<DeliveryRow, 'at' | keyof Outcome>,
  { status, error, answer, durationMs }: Outcome,
): DeliveryRow {
  const at = new Date(Date.now() - durationMs).toISOString()
  return { ...about, status, error, answer: answer.toWellFormed(), at, durationMs }
}

/** The columns of attempts, as a statement takes them out of JSON. */
export const deliveryColumns = (sql: Sql) => sql`
  webhook_id uuid, id uuid, delivery_id uuid, type text, first_seq bigint, last_seq bigint, events int4, attempt int4,
  status int4, error text, answer text, at timestamptz, duration_ms int4`

/** The same attempts as those columns are called. */
export const asColumns = (row: DeliveryRow) => ({
  ...{ webhook_id: row.webhookId, id: row.id, delivery_id: row.deliveryId, type: row.type },
  ...{ first_seq: row.firstSeq, last_seq: row.lastSeq, events: row.events, attempt: row.attempt },
  ...{ status: row.status, error: row.error, answer: row.answer, at: row.at, duration_ms: row.durationMs },
})
