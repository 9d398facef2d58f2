import { bigint, integer, pgTable, primaryKey, text, unique, uuid } from 'drizzle-orm/pg-core'
import { instant } from '../columns.ts'

/** Who is sent the events of a project, and how far they have got. */
export const webhooks = pgTable(
  'webhooks',
  {
    id: uuid('id').primaryKey(),
    projectId: uuid('project_id').notNull(),
    /** Of a project's webhooks each has another, so that there are no more than slots. */
    slot: integer('slot').notNull(),
    /** Counts what people, or its end, changed: what its ETag is made of. */
    revision: integer('revision').notNull().default(1),
    url: text('url').notNull(),
    /** With blanks between; null for all. */
    types: text('types'),
    maxEvents: integer('max_events').notNull(),
    /** Sealed, as the one before it, which signs too until its time is over. */
    secret: text('secret').notNull(),
    formerSecret: text('former_secret'),
    formerUntil: instant('former_until'),
    /** Null where that is not known. */
    createdBy: uuid('created_by'),
    /** The last event of it, unless it is from before there were such events. */
    eventId: uuid('event_id'),
    createdAt: instant('created_at').notNull(),
    disabledAt: instant('disabled_at'),
    disabledReason: text('disabled_reason'),

    /** The seq of the last event that was delivered, or is not asked for. */
    cursor: bigint('cursor', { mode: 'number' }).notNull(),
    /** The delivery that is under way or is to be tried again: its id, and the version up to which it was put together. */
    deliveryId: uuid('delivery_id'),
    head: bigint('head', { mode: 'number' }),
    failures: integer('failures').notNull().default(0),
    failingSince: instant('failing_since'),
    nextAt: instant('next_at'),
    /** Which worker delivers just now, and until when no other one does. */
    leaseBy: uuid('lease_by'),
    leaseUntil: instant('lease_until'),
  },
  (t) => [unique('webhooks_slot').on(t.projectId, t.slot)],
)

/** What was sent and what came back, each attempt for itself. */
export const webhookDeliveries = pgTable(
  'webhook_deliveries',
  {
    webhookId: uuid('webhook_id').notNull(),
    id: uuid('id').notNull(),
    /** What receivers see as webhook-id: the same when it is tried again. */
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
