import { Type } from '@sinclair/typebox'
import type { webhookDeliveries } from '../../drizzle/schema/webhooks.ts'
import { adminQuery } from '../../src/commands/query.ts'
import { isId, maxId, nilId } from '../../src/id-format.ts'
import { view } from '../../src/model/view.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { Cursor, cutToLimit, readIdPage, Limit, pageOf } from '../../src/reads/pages.ts'
import { respondByDigest, etagOf, respond } from '../../src/responses/reply.ts'
import { Input, OneOf } from '../../src/schema/input.ts'
import { Count, Id, OrNull, Timestamp } from '../../src/schema/response.ts'
import type { Services } from '../../src/services.ts'
import { noWebhook } from './commands.ts'
import { revisionTag, type Webhook, webhookView } from './schema.ts'

const columns = (sql: Sql) => sql`
  id, project_id, revision, url, types, max_events, except_actor_id, secret, former_secret, former_until, created_at, disabled_at,
  disabled_reason, (select u.id from users u where u.id = webhooks.created_by) as created_by, cursor::float8 as cursor, failures, next_at`

export async function webhookAt(
  sql: Sql,
  { id = '', webhookId = '' }: Record<string, string>,
): Promise<Webhook> {
  if (!isId(webhookId)) throw noWebhook()
  const [webhook] = await sql<Webhook[]>`
    select ${columns(sql)} from webhooks where id = ${webhookId} and project_id = ${id}`
  if (!webhook) throw noWebhook()
  return webhook
}

const paged = { input: Input({ limit: Limit(50, 200), cursor: Cursor() }), isList: true }

export const listWebhooks = ({ database: { reads: sql }, findRole }: Services) =>
  adminQuery(findRole, {
    about: 'Returns the webhooks of the project, oldest first.',
    ...paged,
    view: webhookView,
    scope: 'admin',
    async read({ request, query }, { projectId, version }) {
      const { limit, cursor } = readIdPage(query, 50, 200)
      const rows = await sql<Webhook[]>`
        select ${columns(sql)} from webhooks where project_id = ${projectId} and id > ${cursor ?? nilId} order by id limit ${limit + 1}`
      const page = pageOf(request, cutToLimit(rows, limit), webhookView.of, ({ id }) => [id])
      return respondByDigest(request, page, version)
    },
  })

export const getWebhook = ({ database: { reads: sql }, findRole }: Services) =>
  adminQuery(findRole, {
    about: 'Returns the webhook. Every event up to `cursor` is delivered.',
    view: webhookView,
    scope: 'admin',
    errors: [noWebhook()],
    async read({ request, params }, { version }) {
      const webhook = await webhookAt(sql, params)
      const body = JSON.stringify(webhookView.of(webhook))
      const etag = etagOf(revisionTag(webhook), webhookView.etagSuffix!(webhook))
      return respond(request, { body, link: null, etag }, version)
    },
  })

export const listDeliveries = ({ database: { reads: sql }, findRole }: Services) =>
  adminQuery(findRole, {
    about: 'Returns the attempts of the last 30 days with their results, newest first.',
    ...paged,
    view: deliveryView,
    operation: { id: 'listWebhookDeliveries', tag: 'Webhooks' },
    scope: 'admin',
    errors: [noWebhook()],
    async read({ request, query, params }, { version }) {
      const { limit, cursor } = readIdPage(query, 50, 200)
      const { id: webhookId } = await webhookAt(sql, params)
      const rows = await sql<DeliveryRow[]>`
        select webhook_id, id, delivery_id, type, first_seq::float8 as first_seq, last_seq::float8 as last_seq, events, attempt,
          status, error, answer, at, duration_ms
        from webhook_deliveries where webhook_id = ${webhookId} and id < ${cursor ?? maxId} order by id desc limit ${limit + 1}`
      const page = pageOf(request, cutToLimit(rows, limit), deliveryView.of, ({ id }) => [id])
      return respondByDigest(request, page, version)
    },
  })

export type DeliveryRow = typeof webhookDeliveries.$inferSelect

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
