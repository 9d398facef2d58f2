import { operation } from '../../src/openapi/operation.ts'
import { roleNeeded } from '../../src/identity/roles.ts'
import { gone } from '../../src/reads/kept.ts'
import { Message, sampleId } from '../../src/schema/answer.ts'
import { notFound, type Refusal } from '../../src/wire/refusals.ts'
import { ahead } from '../events/parameters.ts'
import { deleteWebhook } from './commands.ts'
import { deliveryView } from './delivery-view.ts'
import { badUrl, full, noWebhook, unreadable } from './errors.ts'
import {
  CreateWebhookBody,
  ReplayWebhookBody,
  UpdateWebhookBody,
  WebhookWithSecret,
  webhookView,
} from './schema.ts'

// What the document says of each route.

type Wanted = Omit<Parameters<typeof operation>[0], 'tag' | 'scope' | 'refuses'> & { refuses?: Refusal[] }

const ofAdmins = ({ description, refuses = [], ...wanted }: Wanted, isThere = true) =>
  operation({
    ...wanted,
    tag: 'Webhooks',
    scope: 'admin',
    description: `${description} Takes the role ADMIN.`,
    refuses: [...refuses, roleNeeded('ADMIN'), ...(isThere ? [noWebhook()] : []), notFound('Project')],
  })

export const creating = ofAdmins(
  {
    id: 'createWebhook',
    summary: 'Make a webhook',
    description:
      'Every event of the project from now on, or of some `types`, is posted to the URL: in order, at least once, `maxEvents` at most in one body `{"type": "events", "timestamp": …, "data": {"projectId": …, "events": […]}}`, signed as Standard Webhooks say. The answer shows the `secret`, and nothing ever again but a repeat under its Idempotency-Key.',
    does: 'add',
    body: CreateWebhookBody,
    answers: {
      status: 201,
      schema: WebhookWithSecret,
      description: 'Made',
      tagged: true,
      secret: true,
      madeAt: `/projects/${sampleId}/webhooks/${sampleId}`,
    },
    refuses: [badUrl('must begin with https://'), full(100)],
  },
  false,
)

export const updating = ofAdmins({
  id: 'updateWebhook',
  summary: 'Change a webhook, disable or enable it',
  description:
    'Absent fields stay. Enabled again, or led elsewhere, it goes on where it stopped, and at once.',
  does: 'change',
  body: UpdateWebhookBody,
  answers: { schema: webhookView.schema, description: 'Done: as it is now', tagged: true, secret: true },
  refuses: [badUrl('must begin with https://')],
})

export const deleting = ofAdmins({
  id: 'deleteWebhook',
  summary: 'Delete a webhook',
  description: 'Nothing more is sent, and what it was sent is forgotten.',
  does: 'change',
  answers: {
    schema: Message,
    example: { message: deleteWebhook.says },
    description: 'Deleted',
    secret: true,
  },
})

export const rotating = ofAdmins({
  id: 'rotateWebhook',
  summary: 'Give a webhook another secret',
  description: 'For 24 hours deliveries are signed with both, the new one first; the answer shows it.',
  does: 'add',
  answers: { schema: WebhookWithSecret, description: 'Done', tagged: true, secret: true },
})

export const testing = ofAdmins({
  id: 'testWebhook',
  summary: 'Send a test to a webhook',
  description:
    'At once, whether it is enabled or not: `{"type": "test", "timestamp": …, "data": {"projectId": …, "webhookId": …, "events": []}}`. The answer says what came back; so do the deliveries.',
  does: 'add',
  answers: { schema: deliveryView.schema, description: 'Sent: what came back', secret: true },
  refuses: [unreadable()],
})

export const replaying = ofAdmins({
  id: 'replayWebhook',
  summary: 'Send events again, or leave some out',
  description: 'It goes on after the event `after`, be that before or behind where it is.',
  does: 'add',
  body: ReplayWebhookBody,
  answers: { schema: webhookView.schema, description: 'Done: as it is now', tagged: true, secret: true },
  refuses: [ahead(), gone(17)],
})
