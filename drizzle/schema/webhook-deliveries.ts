import { bigint, integer, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { instant } from '../columns.ts'

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
