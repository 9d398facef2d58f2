import { Type } from '@sinclair/typebox'
import type { StoredRows } from '../../src/model/entities.ts'
import type { EventType } from '../../src/model/entities.ts'
import { Body, checked, IdOf, Input } from '../../src/schema/input.ts'
import { view } from '../../src/model/view.ts'
import { Id, Timestamp } from '../../src/schema/answer.ts'
import { named } from '../../src/schema/named.ts'
import { Nullable, OneOf } from '../../src/schema/text.ts'
import { CreatedBy } from '../creations/schema.ts'
import { model } from '../modules.ts'

const mostEvents = 100
const { eventTypes } = model

const isType = (one: unknown) => eventTypes.includes(one as EventType)
const isTypes = (value: unknown) =>
  Array.isArray(value) && value.length >= 1 && value.length <= eventTypes.length && value.every(isType)
const isUrl = (value: unknown) => typeof value === 'string' && URL.canParse(value)

const Url = checked<string>(isUrl, {
  type: 'string',
  format: 'uri',
  maxLength: 2_048,
  description: 'A URL that begins with https://, and leads to a public address',
  examples: ['https://hooks.example.com/docket'],
})
const Types = checked<EventType[]>(isTypes, {
  type: 'array',
  minItems: 1,
  maxItems: eventTypes.length,
  items: OneOf('EventType', eventTypes),
  description: 'A list of event types: only those are sent',
  examples: [['task.created', 'task.updated']],
})
const MaxEvents = Type.Integer({
  minimum: 1,
  maximum: mostEvents,
  description: `A whole number from 1 to ${mostEvents}: so many events at most are sent at once`,
  examples: [mostEvents],
})
const Enabled = Type.Boolean({ description: 'A boolean: whether events are sent', examples: [true] })

const shown = {
  projectId: Id('The project'),
  url: Url,
  types: Nullable(Types),
  maxEvents: MaxEvents,
  enabled: Enabled,
  disabledReason: Type.Union([Type.String(), Type.Null()], {
    description: 'Why the service disabled it; null unless it did',
    examples: [null],
  }),
  cursor: Type.Integer({ minimum: 0, description: 'The seq up to which all is delivered', examples: [41] }),
  failures: Type.Integer({
    minimum: 0,
    description: 'Attempts that failed since the last success',
    examples: [0],
  }),
  nextAttemptAt: Type.Union([Timestamp('When it is tried again'), Type.Null()], {
    description: 'When it is tried again; null unless it failed',
    examples: [null],
  }),
  createdBy: CreatedBy,
  createdAt: Timestamp('When it was made'),
}
const id = Id('The webhook, used in its paths')

type Stored = StoredRows['webhook']
/** A webhook as people see it, and the sealed secrets that it signs with. */
export type Webhook = Omit<
  Stored,
  'slot' | 'deliveryId' | 'head' | 'failingSince' | 'leaseBy' | 'leaseUntil' | 'eventId'
>

/** What an ETag says of a webhook beside its revision: how far deliveries are, and whether its creator exists. */
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
  tag: (_, row) => (row ? progressOf(row) : ''),
})

export const WebhookWithSecret = named(
  'WebhookWithSecret',
  Type.Object({
    id,
    secret: Type.String({
      description: 'What deliveries are signed with; shown only now',
      examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo='],
    }),
    ...shown,
  }),
)

export const sealedWebhookView = view<Webhook>({
  name: 'WebhookWithSecret',
  schema: WebhookWithSecret,
  of: (row) => ({ sealed: { secret: row.secret }, ...webhookView.of(row) }),
  tag: webhookView.tag,
})

const ofProject = { projectId: IdOf('project') }
const ofWebhook = { ...ofProject, webhookId: IdOf('webhook') }
const settings = {
  types: Type.Optional(Nullable(Types)),
  maxEvents: Type.Optional(MaxEvents),
  enabled: Type.Optional(Enabled),
}
/** Sealed before a command carries it. */
const Sealed = Type.String()
const changed = { url: Type.Optional(Url), ...settings }

export const CreateWebhook = Input({ ...ofProject, url: Url, ...settings, secret: Sealed })
export const UpdateWebhook = Input({ ...ofWebhook, ...changed })
export const UpdateWebhookBody = named('UpdateWebhook', Body(changed, WebhookWithSecret))
export const RotateWebhook = Input({ ...ofWebhook, secret: Sealed })
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
