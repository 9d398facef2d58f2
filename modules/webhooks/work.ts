import type { Draft, Keep } from '../../src/http/once.ts'
import { holderOf } from '../../src/identity/caller.ts'
import { requireScope } from '../../src/identity/scopes.ts'
import type { Seen } from '../../src/reads/role-lookup.ts'
import type { Services } from '../../src/services.ts'
import { type Asked, requireAdmin, webhookAt } from './access.ts'
import { remove, replay, rotate, update } from './changes.ts'
import { create } from './create.ts'
import type { WantedWebhook } from './schema.ts'
import { openTesting } from './testing.ts'

export type WebhookWork = ReturnType<typeof openWebhookWork>

/** What may be done about webhooks: they are settings of a project, and no part of what its history tells. */
export function openWebhookWork(services: Services) {
  const test = openTesting(services)
  return {
    create: (asked: Asked, body: WantedWebhook & { url: string }) =>
      once(services, asked, body, (seen, keep) => create(services, seen, body, keep)),
    update: (asked: Asked, body: WantedWebhook) =>
      once(services, asked, body, (_, keep) => update(services, asked, body, keep)),
    remove: (asked: Asked) => once(services, asked, null, (_, keep) => remove(services, asked, keep)),
    rotate: (asked: Asked) => once(services, asked, null, (_, keep) => rotate(services, asked, keep)),
    replay: (asked: Asked, body: { after: number }) =>
      once(services, asked, body, (seen, keep) => replay(services, asked, { seen, ...body }, keep)),
    test: (asked: Asked) =>
      once(services, asked, null, async (_, keep) =>
        test(asked.caller.userId, await webhookAt(services.database.chores, asked.params), keep),
      ),
  }
}

type Work = (seen: Seen, keep: Keep) => Promise<Draft>

/** Nothing is answered to who may not deal with webhooks, not even a repeat: it may hold a secret. */
async function once(services: Services, { request, caller, params }: Asked, body: unknown, work: Work) {
  const { id = '' } = params
  const seen = await requireAdmin(services, caller, id)
  requireScope(caller, 'admin')
  const key = {
    scope: holderOf(caller),
    guess: (isRight: () => Promise<boolean>) => isRight(), // there is no password in these bodies
    madeAt: (webhookId: string) => `/projects/${id}/webhooks/${webhookId}`,
  }
  const answer = await services.once(request, key, body, (keep) => work(seen, keep))
  services.webhookHints.tell([seen])
  return answer
}
