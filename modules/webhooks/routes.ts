import type { Module } from '../../src/module.ts'
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

const webhooksPath = '/projects/:id/webhooks'
const webhookPath = `${webhooksPath}/:webhookId`

/** A host name that does not resolve within this time is accepted, and is checked at the first delivery. */
const resolveMs = 2_000

/** Creates secrets and checks URLs before rules run, because rules do no I/O. */
function openPrepared({ oldestSeq, outbound, encryption }: Services) {
  const newSealed = () => ({ secret: encryption.encrypt(newSecret()) })
  async function checked({ url }: { url?: string }) {
    if (url === undefined) return {}
    const destination = await outbound.destinations.check(url, resolveMs).catch((error: unknown) => {
      throw error instanceof ForbiddenUrl ? badUrl(error.message) : error
    })
    return { url: destination.href }
  }
  return {
    creating: { prepare: async (input: { url: string }) => ({ ...(await checked(input)), ...newSealed() }) },
    updating: { prepare: checked },
    rotating: { prepare: async () => newSealed() },
    replaying: {
      prepare: ({ projectId, after }: { projectId: string; after: number }) =>
        requireRetained(oldestSeq, projectId, after),
    },
  }
}

export const webhooks: Module = {
  routes(services) {
    const { creating, updating, rotating, replaying } = openPrepared(services)
    return [
      ['post', webhooksPath, createWebhook, 'Create a webhook', creating],
      ['get', webhooksPath, listWebhooks(services), 'List the webhooks of a project'],
      ['get', webhookPath, getWebhook(services), 'Get a webhook'],
      ['patch', webhookPath, updateWebhook, 'Change a webhook, disable or enable it', updating],
      ['delete', webhookPath, deleteWebhook, 'Delete a webhook'],
      ['post', `${webhookPath}/rotate`, rotateWebhook, "Rotate a webhook's secret", rotating],
      ['post', `${webhookPath}/test`, testWebhook(services), 'Send a test to a webhook'],
      ['post', `${webhookPath}/replay`, replayWebhook, 'Replay or skip events of a webhook', replaying],
      ['get', `${webhookPath}/deliveries`, listDeliveries(services), 'List the deliveries of a webhook'],
    ]
  },
}
