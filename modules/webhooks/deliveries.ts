import { Type } from '@sinclair/typebox'
import type { webhookDeliveries } from '../../drizzle/schema/webhooks.ts'
import { view } from '../../src/model/view.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { Count, Id, OrNull, Timestamp } from '../../src/schema/response.ts'
import { OneOf } from '../../src/schema/text.ts'

export type DeliveryRow = typeof webhookDeliveries.$inferSelect

/** Reads a page of a webhook's deliveries, newest first, and one row more, which shows that another page follows. */
export const deliveriesOf = (sql: Sql, webhookId: string, before: string, limit: number) => sql<
  DeliveryRow[]
>`
  select webhook_id, id, delivery_id, type, first_seq::float8 as first_seq, last_seq::float8 as last_seq, events, attempt,
    status, error, answer, at, duration_ms
  from webhook_deliveries where webhook_id = ${webhookId} and id < ${before} order by id desc limit ${limit + 1}`

/** The columns of the table, in order, for `jsonb_to_recordset`. */
export const deliveryColumns = (sql: Sql) => sql`
  "webhookId" uuid, id uuid, "deliveryId" uuid, type text, "firstSeq" bigint, "lastSeq" bigint, events int4, attempt int4,
  status int4, error text, answer text, at timestamptz, "durationMs" int4`

export const deliveryView = view<DeliveryRow>({
  name: 'WebhookDelivery',
  schema: Type.Object({
    id: Id('The attempt'),
    webhookId: Id('The webhook'),
    deliveryId: Id('The value of the webhook-id header, the same for every attempt'),
    type: OneOf('WebhookMessage', ['events', 'test']),
    firstSeq: OrNull(Type.Integer(), 'The seq of the first event; null for a test', 42),
    lastSeq: OrNull(Type.Integer(), 'The seq of the last event; null for a test', 44),
    events: Count(0, 'The number of events', 3),
    attempt: Count(1, 'The number of the attempt, from 1', 1),
    status: OrNull(Type.Integer(), 'The HTTP status of the response; null without a response', 200),
    error: OrNull(
      Type.String(),
      'Why there was no response, or that a redirect was not followed; otherwise null',
    ),
    answer: Type.String({ description: 'The first 1024 bytes of the response body', examples: ['ok'] }),
    at: Timestamp('When the attempt began'),
    durationMs: Count(0, 'The duration of the attempt in milliseconds', 87),
  }),
})
