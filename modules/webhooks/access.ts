import { requireMatch } from '../../src/actor/precondition.ts'
import type { Caller } from '../../src/identity/caller.ts'
import { requireRole } from '../../src/identity/roles.ts'
import { isId } from '../../src/ids.ts'
import type { Seen } from '../../src/reads/role-lookup.ts'
import type { Sql } from '../../src/postgres/database.ts'
import type { Services } from '../../src/services.ts'
import { digestOf } from '../../src/wire/etags.ts'
import { notFound } from '../../src/wire/refusals.ts'
import { type Webhook, webhookOf } from './queries.ts'
import { webhookView } from './schema.ts'

/** What somebody asks of a project's webhooks. */
export interface Asked {
  request: Request
  caller: Caller
  params: Record<string, string>
}

export const noWebhook = () => notFound('Webhook')

/** The project of who may deal with its webhooks. @throws Refusal 404 or 403 */
export async function requireAdmin(
  { findRole }: Pick<Services, 'findRole'>,
  caller: Caller,
  projectId: string,
): Promise<Seen> {
  const seen = isId(projectId) ? await findRole(caller, projectId) : undefined
  requireRole(seen?.role, 'ADMIN', 'Project')
  return seen!
}

/** @throws Refusal 404 */
export async function webhookAt(
  sql: Sql,
  { id = '', webhookId = '' }: Record<string, string>,
): Promise<Webhook> {
  const webhook = isId(webhookId) && (await webhookOf(sql, id, webhookId))
  if (!webhook) throw noWebhook()
  return webhook
}

/** What stands after the dot is how far it has got: no state that a change is made from. */
export const etagOfWebhook = (webhook: Webhook): string =>
  `"${webhook.id}-${webhook.revision}.${digestOf(JSON.stringify(webhookView.of(webhook))).slice(1, -1)}"`

/** @throws Refusal 412 */
export function requireWebhook(request: Request, { id, revision }: Webhook): void {
  const ifMatch = request.headers.get('if-match') ?? undefined
  requireMatch({ ifMatch }, { eventId: `${id}-${revision}` })
}

/** A webhook as it is answered to who made or changed it. */
export const shown = (webhook: Webhook, status = 200) => {
  return { status, body: webhookView.of(webhook), etag: etagOfWebhook(webhook) }
}
