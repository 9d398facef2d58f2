import { Type } from '@sinclair/typebox'
import type { EventType, StoredRows } from '../../src/model/entities.ts'
import { view } from '../../src/model/view.ts'
import {
  Body,
  checked,
  ExceptActor,
  IdOf,
  Input,
  ListOf,
  maxSeq,
  Nullable,
  OneOf,
  WholeNumber,
} from '../../src/schema/input.ts'
import { Count, Id, IdOrNull, OrNull, Timestamp, named } from '../../src/schema/response.ts'
import { CreatedBy } from '../members/integrations.ts'
import { model } from '../modules.ts'

const { eventTypes } = model

const Url = checked<string>((value) => typeof value === 'string' && URL.canParse(value), {
  type: 'string',
  format: 'uri',
  maxLength: 2_048,
  description: 'A URL that begins with https:// and resolves to public addresses',
  examples: ['https://hooks.example.com/docket'],
})
const Types = ListOf<EventType>(
  OneOf('EventType', eventTypes),
  (value) => eventTypes.includes(value),
  eventTypes.length,
  {
    description: 'A list of event types: only events of these types are sent',
    examples: [['task.created', 'task.updated']],
  },
)
const MaxEvents = WholeNumber(1, 100, 'the most events in one delivery', 100)
const Enabled = Type.Boolean({ description: 'true or false: whether events are sent', examples: [true] })

const fields = {
  projectId: Id('The project'),
  url: Url,
  types: Nullable(Types),
  maxEvents: MaxEvents,
  exceptActorId: IdOrNull('The account whose events are not sent; null to send the events of all accounts'),
  enabled: Enabled,
  disabledReason: OrNull(Type.String(), 'Why the service disabled the webhook; otherwise null'),
  cursor: Count(0, 'Every event up to this seq is delivered', 41),
  failures: Count(0, 'Failed attempts since the last success', 0),
  nextAttemptAt: OrNull(
    Timestamp('The time'),
    'The time of the next attempt after a failure; otherwise null',
  ),
  createdBy: CreatedBy,
  createdAt: Timestamp('When the webhook was created'),
}
const id = Id('The id of the webhook, used in its paths')

export type Webhook = Omit<
  StoredRows['webhook'],
  'slot' | 'deliveryId' | 'head' | 'failingSince' | 'leaseBy' | 'leaseUntil' | 'eventId'
>

/** Every change of a webhook increases the revision, so the ETag contains it in place of the last event's id. */
export const revisionTag = ({ id, revision }: Pick<Webhook, 'id' | 'revision'>) => ({
  eventId: `${id}-${revision}`,
})

/** Returns the part of the ETag after the revision: the delivery progress, and whether the creator still exists. */
const progressOf = ({ cursor, failures, nextAt, createdBy }: Webhook): string =>
  `.${cursor}-${failures}-${nextAt === null ? 0 : Date.parse(nextAt)}-${createdBy === null ? 0 : 1}`

export const webhookView = view<Webhook>({
  name: 'Webhook',
  schema: Type.Object({ id, ...fields }),
  computed: {
    types: ({ types }) => types?.split(' ') ?? null,
    enabled: ({ disabledAt }) => disabledAt === null,
    nextAttemptAt: ({ nextAt }) => nextAt,
  },
  etagSuffix: progressOf,
})

const secret = Type.String({
  description: 'The key that signs deliveries; only this response shows it',
  examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo='],
})

export const sealedWebhookView = view<Webhook>({
  name: 'WebhookWithSecret',
  schema: Type.Object({ id, secret, ...fields }),
  of: (row) => ({ sealed: { secret: row.secret }, ...webhookView.of(row) }),
  etagSuffix: webhookView.etagSuffix,
})

const ofProject = { projectId: IdOf('project') }
const ofWebhook = { ...ofProject, webhookId: IdOf('webhook') }
const settings = {
  types: Type.Optional(Nullable(Types)),
  maxEvents: Type.Optional(MaxEvents),
  exceptActorId: Type.Optional(Nullable(ExceptActor())),
  enabled: Type.Optional(Enabled),
}
const changes = { url: Type.Optional(Url), ...settings }

export const CreateWebhook = Input({ ...ofProject, url: Url, ...settings, secret: Type.String() })
export const UpdateWebhook = Input({ ...ofWebhook, ...changes })
export const UpdateWebhookBody = named('UpdateWebhook', Body(changes, sealedWebhookView.schema))
export const RotateWebhook = Input({ ...ofWebhook, secret: Type.String() })
export const WebhookId = Input(ofWebhook)
export const ReplayWebhook = Input({
  ...ofWebhook,
  after: WholeNumber(0, maxSeq, 'delivery continues after this seq; 0 repeats all events', 0),
})
export const DisableWebhook = Input({
  ...ofWebhook,
  revision: Type.Integer(),
  reason: Type.String(),
})
