import { bigint, integer, pgTable, text, unique, uuid, primaryKey } from 'drizzle-orm/pg-core'
import { instant } from '../columns.ts'

export const webhooks = pgTable(
  'webhooks',
  {
    id: uuid('id').primaryKey(),
    projectId: uuid('project_id').notNull(),
    /** A number below the limit, unique in the project: so there cannot be more webhooks than the limit. */
    slot: integer('slot').notNull(),
    revision: integer('revision').notNull().default(1),
    url: text('url').notNull(),
    /** Event types, separated by spaces; null means all types. */
    types: text('types'),
    maxEvents: integer('max_events').notNull(),
    /** Events of this account are not delivered. */
    exceptActorId: uuid('except_actor_id'),
    // Both secrets are encrypted. Until `formerUntil`, deliveries are also signed with the former secret.
    secret: text('secret').notNull(),
    formerSecret: text('former_secret'),
    formerUntil: instant('former_until'),
    createdBy: uuid('created_by'),
    eventId: uuid('event_id'),
    createdAt: instant('created_at').notNull(),
    disabledAt: instant('disabled_at'),
    disabledReason: text('disabled_reason'),
    /** Every event up to this seq is delivered or filtered out. */
    cursor: bigint('cursor', { mode: 'number' }).notNull(),
    // `deliveryId`: the delivery in progress or to retry. `head`: the last project version of this delivery.
    deliveryId: uuid('delivery_id'),
    head: bigint('head', { mode: 'number' }),
    failures: integer('failures').notNull().default(0),
    failingSince: instant('failing_since'),
    nextAt: instant('next_at'),
    leaseBy: uuid('lease_by'),
    leaseUntil: instant('lease_until'),
  },
  (t) => [unique('webhooks_slot').on(t.projectId, t.slot)],
)

export const webhookDeliveries = pgTable(
  'webhook_deliveries',
  {
    webhookId: uuid('webhook_id').notNull(),
    id: uuid('id').notNull(),
    deliveryId: uuid('delivery_id').notNull(),
    type: text('type').$type<'events' | 'test'>().notNull(),
    firstSeq: bigint('first_seq', { mode: 'number' }),
    lastSeq: bigint('last_seq', { mode: 'number' }),
    events: integer('events').notNull(),
    attempt: integer('attempt').notNull(),
    status: integer('status'),
    error: text('error'),
    answer: text('answer').notNull(),
    at: instant('at').notNull(),
    durationMs: integer('duration_ms').notNull(),
  },
  (t) => [primaryKey({ columns: [t.webhookId, t.id] })],
)
