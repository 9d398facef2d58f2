import { Type } from '@sinclair/typebox'
import type { EventType, StoredRows } from '../../src/model/entities.ts'
import { Body, checked, IdOf, Input, ListOf } from '../../src/schema/input.ts'
import { view } from '../../src/model/view.ts'
import { Count, Id, OrNull, Timestamp } from '../../src/schema/response.ts'
import { named } from '../../src/schema/named.ts'
import { Nullable, OneOf } from '../../src/schema/text.ts'
import { CreatedBy } from '../creations/schema.ts'
import { model } from '../modules.ts'

const maxEventsLimit = 100
const { eventTypes } = model

const Url = checked<string>((value) => typeof value === 'string' && URL.canParse(value), {
  type: 'string',
  format: 'uri',
  maxLength: 2_048,
  description: 'A URL that begins with https://, and leads to a public address',
  examples: ['https://hooks.example.com/docket'],
})
const Types = ListOf<EventType>(
  OneOf('EventType', eventTypes),
  (one) => eventTypes.includes(one),
  eventTypes.length,
  {
    description: 'A list of event types: only those are sent',
    examples: [['task.created', 'task.updated']],
  },
)
const MaxEvents = Type.Integer({
  minimum: 1,
  maximum: maxEventsLimit,
  description: `A whole number from 1 to ${maxEventsLimit}: so many events at most are sent at once`,
  examples: [maxEventsLimit],
})
const Enabled = Type.Boolean({ description: 'A boolean: whether events are sent', examples: [true] })

const shown = {
  projectId: Id('The project'),
  url: Url,
  types: Nullable(Types),
  maxEvents: MaxEvents,
  enabled: Enabled,
  disabledReason: OrNull(Type.String(), 'Why the service disabled it; null unless it did'),
  cursor: Count(0, 'The seq up to which all is delivered', 41),
  failures: Count(0, 'Attempts that failed since the last success', 0),
  nextAttemptAt: OrNull(Timestamp('When it is tried again'), 'When it is tried again; null unless it failed'),
  createdBy: CreatedBy,
  createdAt: Timestamp('When it was made'),
}
const id = Id('The webhook, used in its paths')

export type Webhook = Omit<
  StoredRows['webhook'],
  'slot' | 'deliveryId' | 'head' | 'failingSince' | 'leaseBy' | 'leaseUntil' | 'eventId'
>

/** Beside the revision in the ETag: how far deliveries are, and whether the creator exists. */
const progressOf = ({ cursor, failures, nextAt, createdBy }: Webhook): string =>
  `.${cursor}-${failures}-${nextAt === null ? 0 : Date.parse(nextAt)}-${createdBy === null ? 0 : 1}`

export const webhookView = view<Webhook>({
  name: 'Webhook',
  schema: Type.Object({ id, ...shown }),
  computed: {
    types: ({ types }) => types?.split(' ') ?? null,
    enabled: ({ disabledAt }) => disabledAt === null,
    nextAttemptAt: ({ nextAt }) => nextAt,
  },
  etagSuffix: (_, row) => (row ? progressOf(row) : ''),
})

const secret = Type.String({
  description: 'What deliveries are signed with; shown only now',
  examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo='],
})

export const sealedWebhookView = view<Webhook>({
  name: 'WebhookWithSecret',
  schema: Type.Object({ id, secret, ...shown }),
  of: (row) => ({ sealed: { secret: row.secret }, ...webhookView.of(row) }),
  etagSuffix: webhookView.etagSuffix,
})

const ofProject = { projectId: IdOf('project') }
const ofWebhook = { ...ofProject, webhookId: IdOf('webhook') }
const settings = {
  types: Type.Optional(Nullable(Types)),
  maxEvents: Type.Optional(MaxEvents),
  enabled: Type.Optional(Enabled),
}
const changed = { url: Type.Optional(Url), ...settings }

export const CreateWebhook = Input({ ...ofProject, url: Url, ...settings, secret: Type.String() })
export const UpdateWebhook = Input({ ...ofWebhook, ...changed })
export const UpdateWebhookBody = named('UpdateWebhook', Body(changed, sealedWebhookView.schema))
export const RotateWebhook = Input({ ...ofWebhook, secret: Type.String() })
export const WebhookId = Input(ofWebhook)
export const ReplayWebhook = Input({
  ...ofWebhook,
  after: Type.Integer({
    minimum: 0,
    maximum: 999_999_999_999_999,
    description: 'A whole number: the seq after which to send all again, 0 for all',
    examples: [0],
  }),
})
export const DisableWebhook = Input({
  ...ofWebhook,
  revision: Type.Optional(Type.Integer()),
  reason: Type.String(),
})
