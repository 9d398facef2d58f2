import { webhooks } from '../../drizzle/schema/webhooks.ts'
import { entity } from '../../src/model/definition.ts'
import { byCreator, integrationNotUndoable, webhookSummary } from '../members/integrations.ts'

const unlogged = [
  ...(['slot', 'url', 'secret', 'formerSecret', 'formerUntil', 'cursor', 'deliveryId', 'head'] as const),
  ...(['failures', 'failingSince', 'nextAt', 'leaseBy', 'leaseUntil'] as const),
] as const

type Stored = typeof webhooks.$inferSelect

declare module '../../src/model/entities.ts' {
  interface Entities {
    webhook: {
      row: Omit<Stored, (typeof unlogged)[number] | 'eventId'> & { eventId: string }
      /** `hasCreator`: the account that created the webhook still exists. */
      stored: Stored & { hasCreator?: boolean }
      event: 'created' | 'updated' | 'deleted'
    }
  }
}

export const webhook = entity<'webhook'>({
  name: 'webhook',
  about: 'URLs that receive the events of a project.',
  table: webhooks,
  parent: 'project',
  load: 'on demand',
  ...byCreator(webhookSummary),
  events: {
    created: integrationNotUndoable,
    updated: integrationNotUndoable,
    deleted: integrationNotUndoable,
  },
  unlogged: [...unlogged, 'hasCreator'],
})
