import { Type } from '@sinclair/typebox'
import { view } from '../../src/model/view.ts'
import { Id, Timestamp } from '../../src/schema/answer.ts'
import { OneOf } from '../../src/schema/text.ts'
import type { DeliveryRow } from './delivery-rows.ts'

const OrNull = (description: string, example: number) =>
  Type.Union([Type.Integer(), Type.Null()], { description, examples: [example] })

export const deliveryView = view<DeliveryRow>({
  name: 'WebhookDelivery',
  schema: Type.Object({
    id: Id('The attempt'),
    webhookId: Id('The webhook'),
    deliveryId: Id('What the receiver saw as webhook-id: the same when it was tried again'),
    type: OneOf('WebhookMessage', ['events', 'test']),
    firstSeq: OrNull('The seq of the first event in it', 42),
    lastSeq: OrNull('The seq of the last event in it', 44),
    events: Type.Integer({ minimum: 0, description: 'How many events it held', examples: [3] }),
    attempt: Type.Integer({ minimum: 1, description: 'The how-manieth attempt it was', examples: [1] }),
    status: OrNull('The HTTP status of the answer; null without one', 200),
    error: Type.Union([Type.String(), Type.Null()], {
      description: 'Why there was no answer; null with one',
      examples: [null],
    }),
    answer: Type.String({ description: 'The first 1024 bytes of the answer', examples: ['ok'] }),
    at: Timestamp('When it was sent'),
    durationMs: Type.Integer({
      minimum: 0,
      description: 'How long it took, in milliseconds',
      examples: [87],
    }),
  }),
  of: ({ id, ...row }) => ({ id, ...row }),
})
