import { Elysia } from 'elysia'
import type { RouteBuilders } from '../../src/routes/route-builders.ts'
import { ForbiddenUrl } from '../../src/outbound/post.ts'
import { requireRetained } from '../../src/reads/retention.ts'
import type { Services } from '../../src/services.ts'
import {
  createWebhook,
  deleteWebhook,
  replayWebhook,
  rotateWebhook,
  updateWebhook,
  badUrl,
} from './commands.ts'
import { getWebhook, listDeliveries, listWebhooks } from './reads.ts'
import { testWebhook, newSecret } from './send.ts'

const webhooksPath = '/:id/webhooks'
const webhookPath = `${webhooksPath}/:webhookId` as const

export function webhookRoutes(
  { callerGuard, queryRoute, commandRoute, accountRoute }: RouteBuilders,
  services: Services,
) {
  const { creating, updating, rotating, replaying } = webhookHooks(services)
  return new Elysia({ prefix: '/projects' })
    .use(callerGuard)
    .post(...commandRoute(webhooksPath, createWebhook, 'Create a webhook', creating))
    .get(...queryRoute(webhooksPath, listWebhooks(services), 'List the webhooks of a project'))
    .get(...queryRoute(webhookPath, getWebhook(services), 'Get a webhook'))
    .patch(...commandRoute(webhookPath, updateWebhook, 'Change a webhook, disable or enable it', updating))
    .delete(...commandRoute(webhookPath, deleteWebhook, 'Delete a webhook'))
    .post(...commandRoute(`${webhookPath}/rotate`, rotateWebhook, "Rotate a webhook's secret", rotating))
    .post(...accountRoute(`${webhookPath}/test`, testWebhook(services), 'Send a test to a webhook'))
    .post(
      ...commandRoute(
        `${webhookPath}/replay`,
        replayWebhook,
        'Replay or skip events of a webhook',
        replaying,
      ),
    )
    .get(
      ...queryRoute(
        `${webhookPath}/deliveries`,
        listDeliveries(services),
        'List the deliveries of a webhook',
      ),
    )
}

/** A host name that does not resolve within this time is accepted, and is checked at the first delivery. */
const resolveMs = 2_000

/** Creates secrets and checks URLs before rules run, because rules do no I/O. */
function webhookHooks({ oldestSeq, outbound, encryption }: Services) {
  const newSealed = () => ({ secret: encryption.encrypt(newSecret()) })

  async function checked({ url }: { url?: string }) {
    if (url === undefined) return {}
    const destination = await outbound.destinations.check(url, resolveMs).catch((error: unknown) => {
      throw error instanceof ForbiddenUrl ? badUrl(error.message) : error
    })
    return { url: destination.href }
  }

  return {
    creating: {
      prepare: async (input: { url: string }) => ({ ...(await checked(input)), ...newSealed() }),
    },
    updating: { prepare: checked },
    rotating: { prepare: async () => newSealed() },
    replaying: {
      prepare: (input: { projectId: string; after: number }) =>
        requireRetained(oldestSeq, input.projectId, input.after),
    },
  }
}
