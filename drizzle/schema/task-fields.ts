import { index, jsonb, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { eventId, instant } from '../columns.ts'

export const taskFields = pgTable(
  'task_fields',
  {
    id: uuid('id').primaryKey(),
    projectId: uuid('project_id').notNull(),
    key: text('key').notNull(),
    name: text('name').notNull(),
    type: text('type').$type<'text' | 'number' | 'boolean' | 'date' | 'choice'>().notNull(),
    /** The choices of a field of the type choice. */
    options: jsonb('options').$type<string[]>(),
    createdAt: instant('created_at').notNull(),
    eventId,
  },
  (t) => [index('task_fields_project').on(t.projectId, t.id, t.createdAt)],
)
