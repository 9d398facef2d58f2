import { Elysia } from 'elysia'
import type { RouteBuilders } from '../../src/http/route-builders.ts'
import type { Services } from '../../src/services.ts'
import { createWebhook, deleteWebhook, rotateWebhook, updateWebhook } from './commands.ts'
import { replayWebhook } from './replay.ts'
import { webhookHooks } from './hooks.ts'
import { getWebhook, listDeliveries, listWebhooks } from './reads.ts'
import { testWebhook } from './send.ts'

const webhooksPath = '/:id/webhooks'
const webhookPath = `${webhooksPath}/:webhookId` as const

export function webhookRoutes(
  { callerGuard, queryRoute, commandRoute, accountRoute }: RouteBuilders,
  services: Services,
) {
  const { creating, updating, rotating, replaying, deleting } = webhookHooks(services)
  return new Elysia({ prefix: '/projects' })
    .use(callerGuard)
    .post(...commandRoute(webhooksPath, createWebhook, 'Create a webhook', creating))
    .get(...queryRoute(webhooksPath, listWebhooks(services), 'List the webhooks of a project'))
    .get(...queryRoute(webhookPath, getWebhook(services), 'Get a webhook'))
    .patch(...commandRoute(webhookPath, updateWebhook, 'Change a webhook, disable or enable it', updating))
    .delete(...commandRoute(webhookPath, deleteWebhook, 'Delete a webhook', deleting))
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
