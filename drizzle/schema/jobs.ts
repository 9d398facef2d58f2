import { sql } from 'drizzle-orm'
import { integer, jsonb, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { instant, partialIndex } from '../columns.ts'

/** A row is deleted when its job is done, so a crash or the loss of Redis loses no job. */
export const outbox = pgTable(
  'outbox',
  {
    id: uuid('id').primaryKey(),
    projectId: uuid('project_id'),
    name: text('name').notNull(),
    data: jsonb('data').$type<Record<string, string>>().notNull(),
    createdAt: instant('created_at').notNull().defaultNow(),
    attempts: integer('attempts').notNull().default(0),
    error: text('error'),
    parkedAt: instant('parked_at'),
  },
  (t) => [
    partialIndex('outbox_due', [t.createdAt, t.id], 'parked_at is null'),
    partialIndex('outbox_task', [sql`(data ->> 'taskId')`], "data ->> 'taskId' is not null"),
  ],
)
