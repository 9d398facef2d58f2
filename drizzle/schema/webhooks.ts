import { bigint, integer, pgTable, primaryKey, text, unique, uuid } from 'drizzle-orm/pg-core'
import { instant } from '../columns.ts'

export const webhooks = pgTable(
  'webhooks',
  {
    id: uuid('id').primaryKey(),
    projectId: uuid('project_id').notNull(),
    /** Each webhook of a project has another slot: so their number is bounded. */
    slot: integer('slot').notNull(),
    /** Counts the changes by commands. */
    revision: integer('revision').notNull().default(1),
    url: text('url').notNull(),
    /** Separated by blanks; null for all. */
    types: text('types'),
    maxEvents: integer('max_events').notNull(),
    /** Encrypted, as the former secret, which signs too until its time. */
    secret: text('secret').notNull(),
    formerSecret: text('former_secret'),
    formerUntil: instant('former_until'),
    // Null where releases before did not store them.
    createdBy: uuid('created_by'),
    eventId: uuid('event_id'),
    createdAt: instant('created_at').notNull(),
    disabledAt: instant('disabled_at'),
    disabledReason: text('disabled_reason'),
    /** The seq up to which all is delivered or filtered. */
    cursor: bigint('cursor', { mode: 'number' }).notNull(),
    /** The delivery in progress or to be tried again, and the version up to which it was assembled. */
    deliveryId: uuid('delivery_id'),
    head: bigint('head', { mode: 'number' }),
    failures: integer('failures').notNull().default(0),
    failingSince: instant('failing_since'),
    nextAt: instant('next_at'),
    /** The worker that delivers. */
    leaseBy: uuid('lease_by'),
    leaseUntil: instant('lease_until'),
  },
  (t) => [unique('webhooks_slot').on(t.projectId, t.slot)],
)

/** Each attempt to deliver. */
export const webhookDeliveries = pgTable(
  'webhook_deliveries',
  {
    webhookId: uuid('webhook_id').notNull(),
    id: uuid('id').notNull(),
    /** The webhook-id header: the same in each attempt. */
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
