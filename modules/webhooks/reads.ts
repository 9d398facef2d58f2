import { adminQuery } from '../../src/commands/query.ts'
import { isId, maxId } from '../../src/id-format.ts'
import type { View } from '../../src/model/view.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { Cursor, cutToLimit, readIdPage, Limit, pageOf } from '../../src/reads/pages.ts'
import { respondByDigest, etagOf, respond } from '../../src/responses/reply.ts'
import { Input } from '../../src/schema/input.ts'
import type { Services } from '../../src/services.ts'
import { noWebhook } from './commands.ts'
import { deliveriesOf, deliveryView } from './deliveries.ts'
import { revisionTag, type Webhook, webhookView } from './schema.ts'

const columns = (sql: Sql) => sql`
  id, project_id, revision, url, types, max_events, secret, former_secret, former_until, created_at, disabled_at,
  disabled_reason, (select u.id from users u where u.id = webhooks.created_by) as created_by, cursor::float8 as cursor, failures, next_at`

/** Reads all webhooks of a project: a project has at most 100. */
const webhooksOf = (sql: Sql, projectId: string) => sql<Webhook[]>`
  select ${columns(sql)} from webhooks where project_id = ${projectId} order by slot`

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

const pageById = <R extends { id: string }>(request: Request, rows: R[], limit: number, { of }: View<R>) =>
  pageOf(
    request,
    cutToLimit(rows, limit),
    (row) => of(row),
    (row) => [row.id],
  )

export const listWebhooks = ({ database: { reads: sql }, findRole }: Services) =>
  adminQuery(findRole, {
    about: 'Returns the webhooks of the project, oldest first.',
    ...paged,
    view: webhookView,
    scope: 'admin',
    async read({ request, query }, { projectId, version }) {
      const { limit, cursor } = readIdPage(query, 50, 200)
      const all = (await webhooksOf(sql, projectId)).sort((a, b) => (a.id < b.id ? -1 : 1))
      const rest = all.filter(({ id }) => id > (cursor ?? ''))
      return respondByDigest(request, pageById(request, rest, limit, webhookView), version)
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
      const webhook = await webhookAt(sql, params)
      const rows = await deliveriesOf(sql, webhook.id, cursor ?? maxId, limit)
      return respondByDigest(request, pageById(request, rows, limit, deliveryView), version)
    },
  })
