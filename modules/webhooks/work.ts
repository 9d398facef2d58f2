import type { Command } from '../../src/commands/command.ts'
import { draftOf, guardOf, type Keep } from '../../src/http/once.ts'
import { holderOf } from '../../src/identity/caller.ts'
import { requireScope } from '../../src/identity/scopes.ts'
import { Forbidden } from '../../src/outbound/destination.ts'
import { newSecret } from '../../src/outbound/signature.ts'
import { requireKept } from '../../src/reads/kept.ts'
import type { Seen } from '../../src/reads/role-lookup.ts'
import type { Services } from '../../src/services.ts'
import { ahead } from '../events/parameters.ts'
import { type Asked, requireAdmin, webhookAt } from './access.ts'
import { createWebhook, deleteWebhook, replayWebhook, rotateWebhook, updateWebhook } from './commands.ts'
import { badUrl } from './errors.ts'
import type { WantedWebhook } from './schema.ts'
import { openTesting } from './testing.ts'

export type WebhookWork = ReturnType<typeof openWebhookWork>

/** How long a name may take to be found, before it is asked for at the first delivery. */
const resolveMs = 2_000

/** What may be done about webhooks, by commands of their project. Secrets are made and sealed, and URLs checked, before. */
export function openWebhookWork(services: Services) {
  const { oldestKept } = services
  const test = openTesting(services)
  const once = openOnce(services)
  const run = openRun(services)
  const sealed = () => services.sealing.seal(newSecret())
  return {
    create: (asked: Asked, body: WantedWebhook & { url: string }) =>
      once(asked, body, async (_, keep) => {
        const { maxEvents = 100, enabled = true, ...own } = await wanted(services, body)
        return run(createWebhook, asked, keep, { types: null, ...own, maxEvents, enabled, secret: sealed() })
      }),
    update: (asked: Asked, body: WantedWebhook) =>
      once(asked, body, async (_, keep) => run(updateWebhook, asked, keep, await wanted(services, body))),
    remove: (asked: Asked) => once(asked, null, (_, keep) => run(deleteWebhook, asked, keep)),
    rotate: (asked: Asked) =>
      once(asked, null, (_, keep) => run(rotateWebhook, asked, keep, { secret: sealed() })),
    replay: (asked: Asked, { after }: { after: number }) =>
      once(asked, { after }, async ({ projectId, version }, keep) => {
        if (after > version) throw ahead()
        if (after < version) await requireKept(oldestKept, projectId, after)
        return run(replayWebhook, asked, keep, { after })
      }),
    test: (asked: Asked) =>
      once(asked, null, async (_, keep) =>
        test(asked.caller.userId, await webhookAt(services.database.chores, asked.params), keep),
      ),
  }
}

/** The fields as their columns hold them. @throws Refusal 400 for a URL that nothing would be sent to */
async function wanted({ outbound }: Services, { url, types, maxEvents, enabled }: WantedWebhook) {
  const checked = (text: string) =>
    outbound.destinations.check(text, resolveMs).catch((error: unknown) => {
      throw error instanceof Forbidden ? badUrl(error.message) : error
    })
  return {
    ...(url !== undefined && { url: (await checked(url)).href }),
    ...(types !== undefined && { types: types && [...new Set(types)].join(' ') }),
    ...(maxEvents !== undefined && { maxEvents }),
    ...(enabled !== undefined && { enabled }),
  }
}

const openRun =
  ({ run }: Services) =>
  async ({ name }: Command<never>, { request, caller, params }: Asked, keep: Keep, given: object = {}) => {
    const { id: projectId, webhookId } = params
    const ifMatch = request.headers.get('if-match') ?? undefined
    const input = { projectId, ...(webhookId !== undefined && { webhookId }), ...given }
    return draftOf(await run({ name, input, caller, ifMatch, guard: guardOf(keep) }))
  }

type Draft = ReturnType<typeof draftOf>
type Work = (seen: Seen, keep: Keep) => Promise<Draft>

/** Nothing is answered to who may not deal with webhooks, not even a repeat: it may hold a secret. */
const openOnce = (services: Services) => async (asked: Asked, body: unknown, work: Work) => {
  const { request, caller, params } = asked
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
