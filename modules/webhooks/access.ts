import { type Caller, requireRole } from '../../src/identity/rights.ts'
import { isId } from '../../src/ids.ts'
import type { Seen } from '../../src/reads/role-lookup.ts'
import type { Sql } from '../../src/postgres/database.ts'
import type { Services } from '../../src/services.ts'
import { etagOf } from '../../src/wire/answers.ts'
import { noWebhook } from './errors.ts'
import { webhookOf } from './queries.ts'
import { type Webhook, webhookView } from './schema.ts'

/** What somebody asks of a project's webhooks. */
export interface Asked {
  request: Request
  caller: Caller
  params: Record<string, string>
}

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

/** The revision, and how far it has got: a change is made from the revision alone. */
export const etagOfWebhook = (webhook: Webhook): string =>
  etagOf({ eventId: `${webhook.id}-${webhook.revision}` }, webhookView.tag!(undefined, webhook))
