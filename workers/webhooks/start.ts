import { batched } from '../../src/postgres/batch.ts'
import { repeatedly } from '../../src/repeatedly.ts'
import type { Services } from '../../src/services.ts'
import { Dispatcher } from './dispatcher.ts'
import { WebhookIndex } from './webhook-index.ts'

const searchEveryMs = 1_000
const renewEveryMs = 750

export function startWebhookDelivery(services: Services): () => Promise<void> {
  const { config, database, notifications, log, webhookNotifications } = services
  const index = new WebhookIndex(database.background)
  const dispatcher = new Dispatcher(services)
  const refresh = batched({ keys: 500, slots: 1 }, async (projectIds: string[]) => {
    dispatcher.wake(await index.refresh(projectIds))
    return projectIds
  })
  const stops = [
    repeatedly(async () => dispatcher.wake(await index.searchNext()), searchEveryMs, log),
    repeatedly(() => dispatcher.renew(), renewEveryMs, log),
    notifications.listen(({ projectId }) => dispatcher.notify(index.of(projectId))),
    webhookNotifications.listen(({ projectId }) => void refresh(projectId).catch(() => {})),
  ]
  return async () => {
    dispatcher.stop()
    await Promise.all(stops.map((stop) => stop()))
    await dispatcher.drain(config.drainTimeoutMs / 2)
  }
}
