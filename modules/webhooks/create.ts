import type { Draft, Keep } from '../../src/http/once.ts'
import { newId } from '../../src/ids.ts'
import { Forbidden } from '../../src/outbound/destination.ts'
import { newSecret } from '../../src/outbound/signature.ts'
import type { Seen } from '../../src/reads/role-lookup.ts'
import type { Services } from '../../src/services.ts'
import { notFound } from '../../src/wire/refusals.ts'
import { shown } from './access.ts'
import { badUrl, full } from './operations.ts'
import type { Webhook } from './queries.ts'
import type { WantedWebhook } from './schema.ts'
import { insertWebhook } from './insert.ts'

/** How long a name may take to be found, before it is asked for at the first delivery. */
const resolveMs = 2_000

/** A webhook of what happens from now on. @throws Refusal 400, 404, 409 */
export async function create(
  services: Services,
  { projectId, version }: Seen,
  { url, types = null, maxEvents = 100, enabled = true }: WantedWebhook & { url: string },
  keep: Keep,
): Promise<Draft> {
  const { href } = await requireUrl(services, url)
  const now = new Date().toISOString()
  const secret = services.sealing.seal(newSecret())
  const webhook: Webhook = {
    ...{ id: newId(), projectId, revision: 1, url: href, types: types && [...new Set(types)], maxEvents },
    ...{ secret, formerSecret: null, formerUntil: null, createdAt: now, disabledAt: enabled ? null : now },
    ...{ disabledReason: null, cursor: version, failures: 0, nextAt: null },
  }
  const draft = { ...shown(webhook, 201), sealed: { secret } }
  const most = services.config.projectWebhooks
  const outcome = await insertWebhook(services.database.chores, webhook, most, keep(draft))
  if (outcome === 'full') throw full(most)
  if (outcome === 'gone') throw notFound('Project')
  return draft
}

/** Refuses where nothing would be sent to. @throws Refusal 400 */
export const requireUrl = ({ outbound }: Services, url: string): Promise<URL> =>
  outbound.destinations.check(url, resolveMs).catch((error: unknown) => {
    throw error instanceof Forbidden ? badUrl(error.message) : error
  })
