import { sql } from 'drizzle-orm'
import { index, integer, jsonb, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { instant } from '../columns.ts'

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
    index('outbox_due')
      .on(t.createdAt, t.id)
      .where(sql`parked_at is null`),
    index('outbox_task')
      .on(sql`(data ->> 'taskId')`)
      .where(sql`data ->> 'taskId' is not null`),
  ],
)
