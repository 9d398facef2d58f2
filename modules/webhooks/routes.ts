import { Elysia } from 'elysia'
import type { Http } from '../../src/http/http.ts'
import * as document from './operations.ts'
import type { webhookReads } from './reads.ts'
import { CreateWebhookBody, ReplayWebhookBody, UpdateWebhookBody } from './schema.ts'
import type { WebhookWork } from './work.ts'

type Reads = ReturnType<typeof webhookReads>

export const webhookRoutes = (http: Http, reads: Reads, work: WebhookWork) =>
  new Elysia({ prefix: '/projects' }).use(settings(http, reads, work)).use(sending(http, reads, work))

const settings = (
  { guarded, ask }: Http,
  { list, get }: Reads,
  { create, update, remove, rotate }: WebhookWork,
) =>
  new Elysia()
    .use(guarded)
    .post('/:id/webhooks', ({ request, caller, params, body }) => create({ request, caller, params }, body), {
      jsonBody: true,
      body: CreateWebhookBody,
      ...document.creating,
    })
    .get(...ask('/:id/webhooks', list, 'List the webhooks of a project'))
    .get(...ask('/:id/webhooks/:webhookId', get, 'Get a webhook'))
    .patch(
      '/:id/webhooks/:webhookId',
      ({ request, caller, params, body }) => update({ request, caller, params }, body),
      { jsonBody: true, body: UpdateWebhookBody, ...document.updating },
    )
    .delete(
      '/:id/webhooks/:webhookId',
      ({ request, caller, params }) => remove({ request, caller, params }),
      document.deleting,
    )
    .post(
      '/:id/webhooks/:webhookId/rotate',
      ({ request, caller, params }) => rotate({ request, caller, params }),
      document.rotating,
    )

const sending = ({ guarded, ask }: Http, { deliveries }: Reads, { replay, test }: WebhookWork) =>
  new Elysia()
    .use(guarded)
    .post(
      '/:id/webhooks/:webhookId/test',
      ({ request, caller, params }) => test({ request, caller, params }),
      document.testing,
    )
    .post(
      '/:id/webhooks/:webhookId/replay',
      ({ request, caller, params, body }) => replay({ request, caller, params }, body),
      { jsonBody: true, body: ReplayWebhookBody, ...document.replaying },
    )
    .get(...ask('/:id/webhooks/:webhookId/deliveries', deliveries, 'List the deliveries of a webhook'))
