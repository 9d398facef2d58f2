import { index, jsonb, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { eventId, instant } from '../columns.ts'

export const taskViews = pgTable(
  'task_views',
  {
    id: uuid('id').primaryKey(),
    projectId: uuid('project_id').notNull(),
    name: text('name').notNull(),
    /** Parameters of the list of tasks. */
    query: jsonb('query').$type<Record<string, string>>().notNull(),
    createdAt: instant('created_at').notNull(),
    eventId,
  },
  (t) => [index('task_views_project').on(t.projectId, t.id, t.createdAt)],
)
