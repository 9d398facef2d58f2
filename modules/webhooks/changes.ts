import type { Draft, Keep } from '../../src/http/once.ts'
import { nowMs } from '../../src/ids.ts'
import { newSecret } from '../../src/outbound/signature.ts'
import { requireKept } from '../../src/reads/kept.ts'
import type { Seen } from '../../src/reads/role-lookup.ts'
import type { Services } from '../../src/services.ts'
import { ahead } from '../events/parameters.ts'
import { type Asked, requireWebhook, shown, webhookAt } from './access.ts'
import { requireUrl } from './create.ts'
import { messages } from './operations.ts'
import type { Webhook } from './queries.ts'
import type { WantedWebhook } from './schema.ts'
import { type Delivering, deleteWebhook, replaceWebhook } from './writes.ts'

/** How long the secret before signs too. */
const formerMs = 24 * 3_600_000

interface Change {
  fields: Partial<Webhook>
  delivering?: Delivering
  sealed?: Record<string, string>
}

/** Puts a change in the place of what it is made from; of writers with the same If-Match one succeeds. @throws Refusal 404, 412 */
async function change(
  services: Services,
  { request, params }: Asked,
  keep: Keep,
  made: (webhook: Webhook) => Change,
): Promise<Draft> {
  for (;;) {
    const before = await webhookAt(services.database.chores, params)
    requireWebhook(request, before)
    const { fields, delivering = {}, sealed } = made(before)
    const atOnce = delivering.atOnce && { failures: 0, nextAt: null }
    const cursor = delivering.at ?? before.cursor
    const after = { ...before, ...fields, ...atOnce, cursor, revision: before.revision + 1 }
    const draft = { ...shown(after), sealed }
    if (await replaceWebhook(services.database.chores, after, delivering, keep(draft))) return draft
  }
}

export async function update(
  services: Services,
  asked: Asked,
  body: WantedWebhook,
  keep: Keep,
): Promise<Draft> {
  if (body.url !== undefined) await requireUrl(services, body.url)
  return change(services, asked, keep, (webhook) => wanted(webhook, body))
}

function wanted(webhook: Webhook, { url, types, maxEvents, enabled }: WantedWebhook): Change {
  const isEnabled = webhook.disabledAt === null
  const leads = url === undefined ? webhook.url : new URL(url).href
  const fields = {
    url: leads,
    types: types === undefined ? webhook.types : types && [...new Set(types)],
    maxEvents: maxEvents ?? webhook.maxEvents,
    ...(enabled === true && { disabledAt: null, disabledReason: null }),
    ...(enabled === false && isEnabled && { disabledAt: new Date().toISOString(), disabledReason: null }),
  }
  const anew = String(fields.types) !== String(webhook.types) || fields.maxEvents !== webhook.maxEvents
  return { fields, delivering: { anew, atOnce: enabled === true || leads !== webhook.url } }
}

export const rotate = (services: Services, asked: Asked, keep: Keep) =>
  change(services, asked, keep, ({ secret: formerSecret }) => {
    const secret = services.sealing.seal(newSecret())
    const formerUntil = new Date(nowMs() + formerMs).toISOString()
    return { fields: { secret, formerSecret, formerUntil }, sealed: { secret } }
  })

export async function replay(
  services: Services,
  asked: Asked,
  { seen: { projectId, version }, after }: { seen: Seen; after: number },
  keep: Keep,
) {
  await webhookAt(services.database.chores, asked.params)
  if (after > version) throw ahead()
  if (after < version) await requireKept(services.oldestKept, projectId, after)
  return change(services, asked, keep, () => {
    return { fields: {}, delivering: { anew: true, at: after, atOnce: true } }
  })
}

export async function remove(services: Services, { request, params }: Asked, keep: Keep): Promise<Draft> {
  const draft = { status: 200, body: { message: messages.deleted } }
  for (;;) {
    const webhook = await webhookAt(services.database.chores, params)
    requireWebhook(request, webhook)
    if (await deleteWebhook(services.database.chores, webhook, keep(draft))) return draft
  }
}
