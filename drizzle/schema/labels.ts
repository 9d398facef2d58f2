import { index, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { eventId, instant } from '../columns.ts'

export const labels = pgTable(
  'labels',
  {
    id: uuid('id').primaryKey(),
    projectId: uuid('project_id').notNull(),
    name: text('name').notNull(),
    color: text('color'),
    createdAt: instant('created_at').notNull(),
    eventId,
  },
  (t) => [index('labels_project').on(t.projectId, t.id, t.createdAt)],
)
