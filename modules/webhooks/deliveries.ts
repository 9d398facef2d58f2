import { Type } from '@sinclair/typebox'
import type { webhookDeliveries } from '../../drizzle/schema/webhooks.ts'
import { view } from '../../src/model/view.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { Count, Id, OrNull, Timestamp } from '../../src/schema/response.ts'
import { OneOf } from '../../src/schema/text.ts'

export type DeliveryRow = typeof webhookDeliveries.$inferSelect

/** A page of a webhook's deliveries, the newest first, with one row more than asked. */
export const deliveriesOf = (sql: Sql, webhookId: string, before: string, limit: number) => sql<
  DeliveryRow[]
>`
  select webhook_id, id, delivery_id, type, first_seq::float8 as first_seq, last_seq::float8 as last_seq, events, attempt,
    status, error, answer, at, duration_ms
  from webhook_deliveries where webhook_id = ${webhookId} and id < ${before} order by id desc limit ${limit + 1}`

/** The columns of the table in their order, as a statement reads rows from JSON. */
export const deliveryColumns = (sql: Sql) => sql`
  "webhookId" uuid, id uuid, "deliveryId" uuid, type text, "firstSeq" bigint, "lastSeq" bigint, events int4, attempt int4,
  status int4, error text, answer text, at timestamptz, "durationMs" int4`

export const deliveryView = view<DeliveryRow>({
  name: 'WebhookDelivery',
  schema: Type.Object({
    id: Id('The attempt'),
    webhookId: Id('The webhook'),
    deliveryId: Id('What the receiver saw as webhook-id: the same when it was tried again'),
    type: OneOf('WebhookMessage', ['events', 'test']),
    firstSeq: OrNull(Type.Integer(), 'The seq of the first event in it', 42),
    lastSeq: OrNull(Type.Integer(), 'The seq of the last event in it', 44),
    events: Count(0, 'How many events it held', 3),
    attempt: Count(1, 'The how-manieth attempt it was', 1),
    status: OrNull(Type.Integer(), 'The HTTP status of the answer; null without one', 200),
    error: OrNull(Type.String(), 'Why there was no answer; null with one'),
    answer: Type.String({ description: 'The first 1024 bytes of the answer', examples: ['ok'] }),
    at: Timestamp('When it was sent'),
    durationMs: Count(0, 'How long it took, in milliseconds', 87),
  }),
})
