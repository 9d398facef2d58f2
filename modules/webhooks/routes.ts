import { Elysia } from 'elysia'
import type { Http } from '../../src/http/http.ts'
import type { Services } from '../../src/services.ts'
import { aroundWebhooks } from './around.ts'
import { createWebhook, deleteWebhook, rotateWebhook, updateWebhook } from './commands.ts'
import { webhookReads } from './reads.ts'
import { replayWebhook } from './replay.ts'
import { testWebhook } from './testing.ts'

const all = '/:id/webhooks'
const one = `${all}/:webhookId` as const

export function webhookRoutes({ guarded, ask, run, write }: Http, services: Services) {
  const { list, get, deliveries } = webhookReads(services)
  const { creating, updating, rotating, replaying, deleting } = aroundWebhooks(services)
  return new Elysia({ prefix: '/projects' })
    .use(guarded)
    .post(...run(all, createWebhook, 'Make a webhook', creating))
    .get(...ask(all, list, 'List the webhooks of a project'))
    .get(...ask(one, get, 'Get a webhook'))
    .patch(...run(one, updateWebhook, 'Change a webhook, disable or enable it', updating))
    .delete(...run(one, deleteWebhook, 'Delete a webhook', deleting))
    .post(...run(`${one}/rotate`, rotateWebhook, 'Give a webhook another secret', rotating))
    .post(...write(`${one}/test`, testWebhook(services), 'Send a test to a webhook'))
    .post(...run(`${one}/replay`, replayWebhook, 'Send events again, or leave some out', replaying))
    .get(...ask(`${one}/deliveries`, deliveries, 'List the deliveries of a webhook'))
}
